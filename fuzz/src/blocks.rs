//! Rows in blocks that are asked from outside: questions that are damaged, out of order or meant for
//! other rows, and fits that get a damaged answer among right ones.

use std::sync::{Mutex, OnceLock};

use properloss::Result;
use properloss::proper::ProperLoss;
use properloss::rows::{
    Block, BlockAnswer, BlockFacts, BlockQuestion, Blocks, InBlocks, Stop, Take,
};
use properloss::sample::{Indices, Matrix, Offsets, Values};
use properloss_data::random::Random;

/// Rows of every sample, and of a block.
const ROWS: usize = 30;
const BLOCK: usize = 11;

/// How the values are stored.
#[derive(Clone, Copy)]
enum Storage {
    F64,
    F32,
    Sparse,
}

/// A sample in blocks, and what was asked and answered in an undisturbed fit.
struct Data {
    storage: Storage,
    columns: usize,
    x: Vec<f64>,
    labels: Vec<u8>,
    weights: Option<Vec<f64>>,
    facts: Vec<BlockFacts>,
    questions: Vec<Vec<u8>>,
    answers: Vec<Vec<Vec<u8>>>,
}

impl Data {
    fn new(storage: Storage, columns: usize, weighted: bool) -> Self {
        let mut random = Random::new(columns as u64);
        let x: Vec<f64> = (0..ROWS * columns).map(|_| random.gaussian() as f32 as f64).collect();
        let label = |i: usize, random: &mut Random| {
            u8::from(2.0 * x[i * columns] + random.gaussian() > 0.0)
        };
        let labels = (0..ROWS).map(|i| label(i, &mut random)).collect();
        let weights = weighted.then(|| (0..ROWS).map(|i| (i % 3) as f64).collect());
        let (facts, questions, answers) = (Vec::new(), Vec::new(), Vec::new());
        let mut data = Self { storage, columns, x, labels, weights, facts, questions, answers };
        data.facts = (0..ROWS.div_ceil(BLOCK))
            .map(|number| data.with(number, |block| Ok(block.facts())).expect("facts"))
            .collect();
        let asked = Mutex::new(Vec::new());
        fit(&Asked { data: &data, asked: Some(&asked), other: None }).expect("an undisturbed fit");
        (data.questions, data.answers) = asked.into_inner().expect("no panic").into_iter().unzip();
        data
    }

    fn with<R>(&self, number: usize, work: impl FnOnce(Block<'_>) -> Result<R>) -> Result<R> {
        let (from, to) = (number * BLOCK, ((number + 1) * BLOCK).min(ROWS));
        let (rows, columns) = (to - from, self.columns);
        let x = &self.x[from * columns..to * columns];
        let weights = self.weights.as_ref().map(|weights| &weights[from..to]);
        let block = |matrix| work(Block::new(matrix, &self.labels[from..to], weights)?);
        match self.storage {
            Storage::F64 => block(Matrix::dense_f64(x, rows, columns)?),
            Storage::F32 => {
                let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                block(Matrix::dense_f32(&x, rows, columns)?)
            }
            Storage::Sparse => {
                let starts: Vec<usize> = (0..=rows).map(|i| i * columns).collect();
                let indices: Vec<u32> = (0..x.len()).map(|k| (k % columns) as u32).collect();
                let (starts, indices) = (Offsets::Usize(&starts), Indices::U32(&indices));
                block(Matrix::csr(starts, indices, Values::F64(x), columns)?)
            }
        }
    }
}

/// The samples.
fn all() -> &'static [Data] {
    static ALL: OnceLock<Vec<Data>> = OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            Data::new(Storage::F64, 2, false),
            Data::new(Storage::F32, 3, true),
            Data::new(Storage::Sparse, 4, false),
            Data::new(Storage::F64, 2, true),
        ]
    })
}

/// Blocks that note what they are asked, or give one other answer.
struct Asked<'a> {
    data: &'a Data,
    asked: Option<&'a Mutex<Vec<(Vec<u8>, Vec<Vec<u8>>)>>>,
    /// The number of a question (counted down), of a block, and the answer.
    other: Option<(Mutex<usize>, usize, BlockAnswer)>,
}

impl Blocks for Asked<'_> {
    fn facts(&self) -> &[BlockFacts] {
        &self.data.facts
    }

    fn ask(&self, question: &BlockQuestion, stop: Stop<'_>, take: Take<'_>) -> Result<()> {
        let other = self.other.as_ref().and_then(|(left, block, answer)| {
            let mut left = left.lock().expect("no panic");
            let now = *left == 0;
            *left = left.wrapping_sub(1);
            now.then_some((*block, answer))
        });
        let mut answers = Vec::new();
        for number in 0..self.data.facts.len() {
            let answer = match other {
                Some((block, answer)) if block == number => answer.clone(),
                _ => self.data.with(number, |block| block.answer(question, number, stop))?,
            };
            if self.asked.is_some() {
                answers.push(answer.to_bytes());
            }
            take(answer)?;
        }
        if let Some(asked) = self.asked {
            asked.lock().expect("no panic").push((question.to_bytes(), answers));
        }
        Ok(())
    }
}

fn fit(blocks: &Asked<'_>) -> Result<()> {
    let never = || false;
    InBlocks::new(blocks, &never)?;
    let fit = ProperLoss::default().fit_blocks(blocks, &never)?;
    assert!(fit.model.coefficients().iter().all(|w| w.is_finite()), "weights");
    Ok(())
}

/// `[0, sample, block, question..]` or `[1, sample, block, number of a question, answer..]`, often of
/// another sample or to another question.
pub fn make(random: &mut Random) -> Vec<u8> {
    let data = all();
    let (of, to) = (random.below(data.len()), random.below(data.len()));
    let to = if random.below(2) == 0 { of } else { to };
    let k = random.below(data[of].questions.len());
    let block = random.below(data[of].facts.len());
    if random.below(2) == 0 {
        let head = [0, to as u8, block as u8];
        return [&head[..], &data[of].questions[k]].concat();
    }
    let at = if random.below(2) == 0 { k } else { random.below(data[to].questions.len()) };
    let head = [1, to as u8, block as u8, at as u8];
    [&head[..], &data[of].answers[k][block]].concat()
}

/// A question is answered or refused; a fit with that answer ends with a model or an error.
pub fn run(bytes: &[u8]) -> bool {
    let &[kind, sample, block, ref rest @ ..] = bytes else { return false };
    let data = &all()[sample as usize % all().len()];
    let block = block as usize % data.facts.len();
    if kind % 2 == 0 {
        let Ok(question) = BlockQuestion::from_bytes(rest) else { return false };
        let again = BlockQuestion::from_bytes(&question.to_bytes()).expect("read again");
        assert_eq!(again.to_bytes(), question.to_bytes());
        let Ok(answer) = data.with(block, |rows| rows.answer(&question, block, &|| false)) else {
            return false;
        };
        let again = BlockAnswer::from_bytes(&answer.to_bytes()).expect("an answer is read again");
        assert_eq!(again.to_bytes(), answer.to_bytes());
        return true;
    }
    let Some((&at, rest)) = rest.split_first() else { return false };
    let Ok(answer) = BlockAnswer::from_bytes(rest) else { return false };
    let at = at as usize % data.questions.len();
    fit(&Asked { data, asked: None, other: Some((Mutex::new(at), block, answer)) }).is_ok()
}
