//! The questions and answers between a trainer and rows that lie elsewhere, as bytes: read, written
//! again to the same bytes, and answers merged.

use properloss::rows::{Answer, Question};
use properloss_data::random::Random;

/// A question or two answers.
pub fn make(random: &mut Random) -> Vec<u8> {
    let numbers = |random: &mut Random| -> Vec<f64> {
        (0..random.below(6)).map(|_| random.gaussian()).collect()
    };
    if random.below(2) == 0 {
        let question = match random.below(8) {
            0 => Question::MaxNorm,
            1 => Question::SpectralNorm { tolerance: random.uniform(), rounds: random.below(99) },
            2 => Question::Score { w: numbers(random).into() },
            3 => Question::Direct { g: numbers(random).into() },
            4 => Question::Advance { eta: random.gaussian() },
            5 => Question::GramProduct { v: numbers(random).into() },
            6 => Question::Reach { eta: random.gaussian() },
            _ => Question::Gram,
        };
        [&[0][..], &postcard::to_allocvec(&question).expect("a question")].concat()
    } else {
        let answer = |random: &mut Random| match random.below(5) {
            0 => Answer::Done,
            1 => Answer::Largest(random.gaussian()),
            2 => Answer::Range(random.gaussian(), random.gaussian()),
            3 => Answer::SpectralNorm(random.uniform(), random.uniform(), random.below(9)),
            _ => Answer::Sum(numbers(random)),
        };
        let pair = (answer(random), answer(random));
        [&[1][..], &postcard::to_allocvec(&pair).expect("answers")].concat()
    }
}

/// Takes either.
pub fn run(bytes: &[u8]) -> bool {
    let Some((kind, rest)) = bytes.split_first() else { return false };
    if kind % 2 == 0 {
        let Ok(question) = postcard::from_bytes::<Question<'_>>(rest) else { return false };
        let text = postcard::to_allocvec(&question).expect("an accepted question can be written");
        let again: Question<'_> = postcard::from_bytes(&text).expect("and read again");
        assert_eq!(postcard::to_allocvec(&again).expect("and written"), text);
        return true;
    }
    let Ok((one, two)) = postcard::from_bytes::<(Answer, Answer)>(rest) else { return false };
    let text = postcard::to_allocvec(&one).expect("an accepted answer can be written");
    let again: Answer = postcard::from_bytes(&text).expect("and read again");
    assert_eq!(postcard::to_allocvec(&again).expect("and written"), text);
    one.merge(two).is_ok()
}
