//! A part of the campaign in every run of the tests: all of the corpus, and some new inputs.

use fuzz_inputs::{corpus, input, targets};

/// New inputs for a target that is quick; `PROPERLOSS_PROFILE=fuzz` runs a hundred times as many.
fn executions() -> u64 {
    let long = std::env::var("PROPERLOSS_PROFILE").is_ok_and(|profile| profile == "fuzz");
    if long { 1_000_000 } else { 10_000 }
}

#[test]
fn every_target_has_a_corpus_and_takes_it() {
    for target in targets() {
        let files = corpus(target.name);
        assert!(!files.is_empty(), "fuzz/corpus/{} has no file", target.name);
        let accepted = files.iter().filter(|(_, bytes)| (target.run)(bytes)).count();
        // Checkpoints belong to one version of the program: those of the corpus are damaged ones.
        if target.name != "checkpoint" {
            assert!(accepted > 0, "{}: no file of the corpus is accepted", target.name);
        }
    }
}

#[test]
fn new_inputs_are_answered() {
    for target in targets() {
        let files = corpus(target.name);
        // As many as its turn has of 500: few of those that take long.
        let accepted = (0..executions() * target.turn / 500)
            .filter(|&seed| {
                let bytes = input(&target, &files, seed);
                let result = std::panic::catch_unwind(|| (target.run)(&bytes));
                assert!(result.is_ok(), "{}, seed {seed}", target.name);
                result.unwrap_or(false)
            })
            .count();
        // Inputs that all fail at the first byte would test nothing.
        assert!(accepted > 0, "{}: no input was accepted", target.name);
    }
}
