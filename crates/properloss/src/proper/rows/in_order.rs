//! Sums over parts of the rows, added in the order of the parts whichever is done first: the same bits for any
//! number of threads, and few parts that wait.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Halted;

/// Works on every part, by all threads, and adds what comes out to `total` in the order of the parts.
pub(super) fn add_in_order<P: Send, S: Send, T: Send>(
    parts: impl Iterator<Item = P> + Send,
    work: impl Fn(usize, P) -> Result<S, Halted> + Sync + Send,
    total: T,
    add: impl Fn(&mut T, S) + Sync + Send,
) -> Result<T, Halted> {
    let sums = Mutex::new(InOrder { total, waiting: BTreeMap::new(), next: 0 });
    // Whoever is free takes the next.
    parts.enumerate().par_bridge().try_for_each(|(number, part)| {
        let sum = work(number, part)?;
        sums.lock().unwrap_or_else(PoisonError::into_inner).take(number, sum, &add);
        Ok(())
    })?;
    Ok(sums.into_inner().unwrap_or_else(PoisonError::into_inner).total)
}

struct InOrder<S, T> {
    total: T,
    waiting: BTreeMap<usize, S>,
    next: usize,
}

impl<S, T> InOrder<S, T> {
    fn take(&mut self, number: usize, sum: S, add: &impl Fn(&mut T, S)) {
        self.waiting.insert(number, sum);
        while let Some(sum) = self.waiting.remove(&self.next) {
            add(&mut self.total, sum);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that come in any order are added in theirs; one that fails ends it.
    #[test]
    fn parts_are_added_in_their_order() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let text = |stop: usize| {
            let work = |number: usize, part: usize| {
                std::thread::sleep(std::time::Duration::from_micros((part * 7919) as u64 % 300));
                if number == stop { Err(Halted) } else { Ok(part.to_string()) }
            };
            let add = |all: &mut String, part: String| all.push_str(&part);
            pool.install(|| add_in_order(10..60, work, String::new(), add))
        };
        let all: String = (10..60).map(|part: usize| part.to_string()).collect();
        assert_eq!(text(usize::MAX), Ok(all));
        assert_eq!(text(17), Err(Halted));
    }
}
