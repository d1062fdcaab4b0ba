//! A part of the campaign in every run of the tests: all of the corpus, and some new inputs.

use fuzz_inputs::{corpus, input, targets};

/// New inputs for each target; `PROPERLOSS_PROFILE=fuzz` runs a hundred times as many.
fn executions() -> u64 {
    let long = std::env::var("PROPERLOSS_PROFILE").is_ok_and(|profile| profile == "fuzz");
    if long { 200_000 } else { 2_000 }
}

#[test]
fn every_target_has_a_corpus_and_takes_it() {
    for target in targets() {
        let files = corpus(target.name);
        assert!(!files.is_empty(), "fuzz/corpus/{} has no file", target.name);
        let accepted = files.iter().filter(|(_, bytes)| (target.run)(bytes)).count();
        assert!(accepted > 0, "{}: no file of the corpus is accepted", target.name);
    }
}

#[test]
fn new_inputs_are_answered() {
    for target in targets() {
        let files = corpus(target.name);
        let accepted = (0..executions())
            .filter(|&seed| {
                let bytes = input(&target, &files, seed);
                let result = std::panic::catch_unwind(|| (target.run)(&bytes));
                assert!(result.is_ok(), "{}, seed {seed}", target.name);
                result.unwrap_or(false)
            })
            .count();
        // Inputs that all fail at the first byte would test nothing.
        assert!(accepted > 20, "{}: only {accepted} inputs were accepted", target.name);
    }
}
