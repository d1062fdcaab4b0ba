//! Questions that come from outside: out of order, of another length, or meant for other rows, they
//! are refused, and so are answers to other questions.

mod congruence;

use congruence::Congruence;
use std::sync::Mutex;

use properloss::Error;
use properloss::link::by_name;
use properloss::proper::ProperLoss;
use properloss::rows::{
    Answer, Block, BlockAnswer, BlockFacts, BlockQuestion, Blocks, Local, Question, Rows, Stop,
    Take,
};
use properloss::sample::{Matrix, Sample};

const X: [f64; 12] = [0.1, -1.0, 0.7, 0.2, -0.3, 0.9, 1.2, -0.4, 0.5, 0.5, -1.1, 0.3];
const Y: [u8; 6] = [0, 1, 0, 1, 1, 0];

fn refused(answer: properloss::Result<Answer>, words: &str) {
    let told = answer.unwrap_err().to_string();
    assert!(told.contains(words), "{told}");
}

#[test]
fn rows_refuse_what_they_are_not_ready_for() {
    let sample = Sample::new(Matrix::dense_f64(&X, 6, 2).unwrap(), &Y, None).unwrap();
    let link = by_name("sigmoid", &[]).unwrap();
    let link = || (&*link).into();
    let mut rows = Local::new(&sample);
    refused(rows.ask(&Question::Predict { link: link() }), "scores first");
    refused(rows.ask(&Question::Reach { eta: 0.0 }), "scores first");
    let short = Question::Score { w: vec![1.0].into() };
    refused(rows.ask(&short), "the vector of a question has 1 value(s), but columns has 2");
    // All zeros are no exception.
    refused(rows.ask(&Question::Direct { g: vec![0.0; 3].into() }), "has 3 value(s)");
    let too_many = Question::SpectralNorm { tolerance: 0.0, rounds: usize::MAX };
    refused(rows.ask(&too_many), "at most 2^20");
    assert_eq!(rows.ask(&Question::Score { w: vec![1.0, 2.0].into() }).unwrap(), Answer::Done);
    refused(rows.ask(&Question::Advance { eta: 1.0 }), "a direction first");
    refused(rows.ask(&Question::Reach { eta: 0.5 }), "a direction first");
    refused(rows.ask(&Question::Gram), "terms first");
    refused(rows.ask(&Question::GramDiagonal), "terms first");
    refused(rows.ask(&Question::Extend { length: 1.0 }), "a direction first");
    let etas = vec![0.5].into();
    assert_eq!(rows.ask(&Question::Direct { g: vec![1.0, 0.0].into() }).unwrap(), Answer::Done);
    refused(rows.ask(&Question::Extend { length: 1.0 }), "a product first");
    refused(rows.ask(&Question::Divergences { link: link(), etas }), "placed on a link");
    // z = x + 2 x', and a step of 0.5 along x.
    let Answer::Range(least, largest) = rows.ask(&Question::Reach { eta: 0.5 }).unwrap() else {
        panic!("a range");
    };
    assert!((least - -1.85).abs() < 1e-15 && (largest - 1.75).abs() < 1e-15, "{least} {largest}");
}

/// Rows in two blocks; what each question asked is kept, and one answer can be another one.
struct Two<'a> {
    x: &'a [f64],
    columns: usize,
    labels: &'a [u8],
    facts: Vec<BlockFacts>,
    asked: Mutex<Vec<(BlockQuestion, BlockAnswer)>>,
    other: Option<(usize, BlockAnswer)>,
}

impl<'a> Two<'a> {
    fn new(x: &'a [f64], columns: usize, labels: &'a [u8]) -> Self {
        let (asked, other) = (Mutex::default(), None);
        let mut blocks = Self { x, columns, labels, facts: Vec::new(), asked, other };
        blocks.facts = (0..2).map(|number| blocks.block(number).facts()).collect();
        blocks
    }

    fn block(&self, number: usize) -> Block<'a> {
        let half = self.labels.len() / 2;
        let x = &self.x[number * half * self.columns..(number + 1) * half * self.columns];
        let matrix = Matrix::dense_f64(x, half, self.columns).unwrap();
        Block::new(matrix, &self.labels[number * half..(number + 1) * half], None).unwrap()
    }
}

impl Blocks for Two<'_> {
    fn facts(&self) -> &[BlockFacts] {
        &self.facts
    }

    fn ask(
        &self,
        question: &BlockQuestion,
        stop: Stop<'_>,
        take: Take<'_>,
    ) -> properloss::Result<()> {
        for number in 0..2 {
            let answer = self.block(number).answer(question, number, stop)?;
            let mut asked = self.asked.lock().unwrap();
            let answer = match &self.other {
                Some((at, other)) if *at == asked.len() => other.clone(),
                _ => answer,
            };
            asked.push((question.clone(), answer.clone()));
            drop(asked);
            take(answer)?;
        }
        Ok(())
    }
}

fn rows(columns: usize) -> (Vec<f64>, Vec<u8>) {
    let mut random = Congruence(7);
    let mut next = || random.uniform() - 0.5;
    let x: Vec<f64> = (0..80 * columns).map(|_| 4.0 * next()).collect();
    let labels = (0..80).map(|i| u8::from(x[i * columns] + next() > 0.0)).collect();
    (x, labels)
}

#[test]
fn questions_and_answers_of_other_rows_are_refused() {
    let ((x, y), (wide_x, wide_y)) = (rows(2), rows(3));
    let (narrow, wide) = (Two::new(&x, 2, &y), Two::new(&wide_x, 3, &wide_y));
    let never = || false;
    for blocks in [&narrow, &wide] {
        ProperLoss::default().fit_blocks(blocks, &never).unwrap();
    }
    let asked = |blocks: &Two<'_>| blocks.asked.lock().unwrap().clone();
    let (questions, others) = (asked(&narrow), asked(&wide));
    assert!(questions.len() > 8);
    for (question, _) in &questions {
        let error = wide.block(0).answer(question, 0, &never).unwrap_err();
        assert!(matches!(error, Error::WrongAnswer { .. }), "{error}");
        // There is no third block.
        assert!(narrow.block(0).answer(question, 2, &never).is_err());
        let wrong = [0, 1, 2];
        let matrix = Matrix::dense_f64(&x[..6], 3, 2).unwrap();
        let error = Block::known(matrix, &wrong, None).unwrap().answer(question, 0, &never);
        assert!(matches!(error, Err(Error::ElementOutOfDomain { what: "labels", index: 2, .. })));
    }
    // Every answer of the other rows, in the place of each of the first answers. Sums of eight losses
    // have no length that could be wrong.
    let mut refused = 0;
    for at in 0..questions.len().min(6) {
        for (_, answer) in &others {
            let mut blocks = Two::new(&x, 2, &y);
            blocks.other = Some((at, answer.clone()));
            if let Err(error) = ProperLoss::default().fit_blocks(&blocks, &never) {
                assert!(matches!(error, Error::WrongAnswer { .. }), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 3 * others.len(), "{refused} of {}", 6 * others.len());
}
