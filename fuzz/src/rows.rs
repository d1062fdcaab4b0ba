//! The questions and answers between a trainer and its rows, as bytes: read, written again to the same
//! bytes, answers merged, and questions put to rows in any order.

use properloss::link::by_name;
use properloss::loss::LossKind;
use properloss::rows::{Answer, Local, Predictions, Question, Rows};
use properloss::sample::{Matrix, Sample};
use properloss_data::random::Random;

const X: [f64; 12] = [0.1, -1.0, 0.7, 0.2, -0.3, 0.9, 1.2, -0.4, 0.5, 0.5, -1.1, 0.3];
const Y: [u8; 6] = [0, 1, 0, 1, 1, 0];

fn numbers(random: &mut Random) -> Vec<f64> {
    // Mostly as many as the rows have columns, with or without an intercept.
    let length = if random.below(4) == 0 { random.below(6) } else { 2 + random.below(2) };
    (0..length).map(|_| random.gaussian()).collect()
}

fn question(random: &mut Random) -> Vec<u8> {
    let link = by_name(["sigmoid", "probit", "clipped-line"][random.below(3)], &[]);
    let link = link.expect("a link of the registry");
    let eta = if random.below(3) == 0 { 0.0 } else { random.gaussian() };
    let kind = [LossKind::Canonical, LossKind::Composite][random.below(2)];
    let question = match random.below(20) {
        0 => Question::MaxNorm,
        1 => Question::SpectralNorm { tolerance: random.uniform(), rounds: random.below(99) },
        2..5 => Question::Score { w: numbers(random).into() },
        5 | 6 => Question::Direct { g: numbers(random).into() },
        7 => Question::Advance { eta },
        8 => Question::GramProduct { v: numbers(random).into() },
        9 => Question::Reach { eta },
        10 => Question::Predict { link: (&*link).into() },
        11 => Question::Keep,
        12 => Question::Gap { predictions: Predictions::Kept },
        13 => Question::Loss { link: (&*link).into(), eta },
        14 => Question::Terms { kind, link: (&*link).into() },
        15 => Question::GramDiagonal,
        16 => Question::Extend { length: eta },
        17 => Question::Along { kind, link: (&*link).into(), t: eta },
        18 => Question::Divergences { link: (&*link).into(), etas: numbers(random).into() },
        _ => Question::Gram,
    };
    postcard::to_allocvec(&question).expect("a question")
}

/// A question, two answers, or a series of questions.
pub fn make(random: &mut Random) -> Vec<u8> {
    match random.below(3) {
        0 => [&[0][..], &question(random)].concat(),
        1 => {
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
        _ => {
            let series: Vec<u8> = (0..=random.below(12)).flat_map(|_| question(random)).collect();
            [&[2][..], &series].concat()
        }
    }
}

/// Takes any of them.
pub fn run(bytes: &[u8]) -> bool {
    let Some((kind, rest)) = bytes.split_first() else { return false };
    match kind % 3 {
        0 => {
            let Ok(question) = postcard::from_bytes::<Question<'_>>(rest) else { return false };
            let text = postcard::to_allocvec(&question).expect("a question can be written");
            let again: Question<'_> = postcard::from_bytes(&text).expect("and read again");
            assert_eq!(postcard::to_allocvec(&again).expect("and written"), text);
            true
        }
        1 => {
            let Ok((one, two)) = postcard::from_bytes::<(Answer, Answer)>(rest) else {
                return false;
            };
            let text = postcard::to_allocvec(&one).expect("an accepted answer can be written");
            let again: Answer = postcard::from_bytes(&text).expect("and read again");
            assert_eq!(postcard::to_allocvec(&again).expect("and written"), text);
            one.merge(two).is_ok()
        }
        _ => series(rest),
    }
}

/// Asks one after the other; `true` if some were answered.
fn series(mut bytes: &[u8]) -> bool {
    let matrix = Matrix::dense_f64(&X, Y.len(), 2).expect("a matrix");
    let sample = Sample::new(matrix, &Y, None).expect("a sample");
    let mut rows = Local::new(&sample);
    let mut answered = 0;
    for _ in 0..64 {
        let Ok((mut question, rest)) = postcard::take_from_bytes::<Question<'_>>(bytes) else {
            break;
        };
        bytes = rest;
        if let Question::SpectralNorm { rounds, .. } = &mut question {
            // As many as are asked for: more of them are no other case.
            *rounds = if *rounds < 1 << 21 { *rounds % 1000 } else { *rounds };
        }
        answered += u32::from(rows.ask(&question).is_ok());
        let _ = rows.by_score().is_ok();
    }
    answered > 0
}
