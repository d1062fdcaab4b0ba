//! Rows of one group are never apart, and the parts keep their shares of both classes.

use properloss_data::groups::{fold_of_row, grouped_folds, grouped_train_test, read_groups};
use properloss_data::{Error, Missing, ReadOptions, Source, read};

/// 600 rows, about 3 % positive, groups of one to nine rows.
fn rows() -> (Vec<u8>, Vec<u32>) {
    let mut state = 7u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let labels = (0..600).map(|_| u8::from(next(100) < 3)).collect();
    let mut groups = Vec::new();
    let mut group = 0;
    while groups.len() < 600 {
        for _ in 0..=next(9) {
            groups.push(group);
        }
        group += 1;
    }
    groups.truncate(600);
    (labels, groups)
}

#[test]
fn folds_keep_groups_together_and_classes_in_proportion() {
    let (labels, groups) = rows();
    let positives = labels.iter().filter(|&&y| y == 1).count() as f64;
    for seed in 0..5 {
        let folds = grouped_folds(&labels, &groups, 5, seed).unwrap();
        let fold = fold_of_row(&labels, &groups, 5, seed).unwrap();
        let mut seen = vec![0; 600];
        for (k, split) in folds.iter().enumerate() {
            let train: std::collections::HashSet<u32> =
                split.train.iter().map(|&i| groups[i]).collect();
            assert!(split.test.iter().all(|&i| !train.contains(&groups[i])));
            split.test.iter().for_each(|&i| seen[i] += 1);
            assert!(split.test.iter().all(|&i| fold[i] == k as u32));
            let here = split.test.iter().filter(|&&i| labels[i] == 1).count() as f64;
            // A group has at most nine rows: neither class can be far from a fifth.
            assert!((here - positives / 5.0).abs() <= 2.0, "{here} of {positives}");
            assert!((split.test.len() as f64 - 120.0).abs() <= 20.0, "{}", split.test.len());
        }
        assert!(seen.iter().all(|&times| times == 1));
    }
    let (a, b) = (fold_of_row(&labels, &groups, 5, 0), fold_of_row(&labels, &groups, 5, 1));
    assert_ne!(a.unwrap(), b.unwrap(), "the seed chooses among groups of equal size");
}

#[test]
fn a_test_part_has_its_share_of_whole_groups() {
    let (labels, groups) = rows();
    for share in [0.1, 0.25, 0.5] {
        let split = grouped_train_test(&labels, &groups, share, 3).unwrap();
        let test: std::collections::HashSet<u32> = split.test.iter().map(|&i| groups[i]).collect();
        assert!(split.train.iter().all(|&i| !test.contains(&groups[i])));
        assert!((split.test.len() as f64 / 600.0 - share).abs() < 0.03);
        assert!(split.test.iter().any(|&i| labels[i] == 1));
    }
    assert!(matches!(
        grouped_train_test(&labels, &groups, 1.0, 0),
        Err(Error::BadOption { what: "the share of the test part", .. })
    ));
}

#[test]
fn what_groups_do_not_allow_is_said() {
    let error = grouped_folds(&[0u8, 1, 0, 1], &[0, 0, 1, 1], 3, 0).unwrap_err();
    assert_eq!(error.to_string(), "2 group(s) cannot be dealt to 3 parts");
    // All positives in one group.
    let error = grouped_folds(&[1u8, 1, 0, 0, 0], &[0, 0, 1, 2, 3], 2, 0).unwrap_err();
    assert_eq!(error.to_string(), "whole groups leave rows of class \"1\" in 1 of 2 parts only");
}

#[test]
fn several_classes_keep_what_only_one_group_has() {
    let (labels, groups) = rows();
    // Classes 0, 1 and 2; class 3 is one group's alone, number 4.
    let labels: Vec<u32> = labels
        .iter()
        .zip(&groups)
        .enumerate()
        .map(|(i, (&y, &group))| if group == 4 { 3 } else { (u32::from(y) + i as u32 % 2) % 3 })
        .collect();
    let folds = grouped_folds(&labels, &groups, 4, 0).unwrap();
    let mut seen = vec![0; 600];
    for split in &folds {
        split.test.iter().for_each(|&i| seen[i] += 1);
        let train: std::collections::HashSet<u32> =
            split.train.iter().map(|&i| groups[i]).collect();
        assert!(split.test.iter().all(|&i| !train.contains(&groups[i])));
        for class in 0..4 {
            assert!(
                split.train.iter().any(|&i| labels[i] == class),
                "class {class} is not learned"
            );
        }
    }
    assert!((0..600).all(|i| seen[i] == usize::from(groups[i] != 4)));
    let split = grouped_train_test(&labels, &groups, 0.25, 0).unwrap();
    assert!(split.test.iter().all(|&i| groups[i] != 4));
    assert!((split.test.len() as f64 / 600.0 - 0.25).abs() < 0.04, "{}", split.test.len());
    // Two groups, both with the rows of a class that no other has.
    let error = grouped_folds(&[0u32, 1, 2, 2], &[0, 0, 1, 1], 2, 0).unwrap_err();
    assert_eq!(error.to_string(), "0 group(s) cannot be dealt to 2 parts");
}

#[test]
fn groups_are_those_of_the_rows_that_are_kept() {
    let text = "id,x,w,who,y\n1,0.5,1,ann,0\n2,,1,bob,1\n3,1.5,0,cy,1\n4,2.5,1,bob,1\n5,1,1,ann,0\n\
                6,2,2,cy,1\n";
    let source = Source::memory("t.csv", text.as_bytes());
    let options = ReadOptions::default()
        .with_ignore(vec!["id".into(), "who".into()])
        .with_weight(Some("w".into()))
        .with_missing(Missing::Drop);
    let dataset = read(&source, &options).unwrap();
    let groups = read_groups(&source, &dataset.encoder, &options, "who").unwrap();
    assert_eq!(dataset.labels, [0, 1, 0, 1]);
    assert_eq!(groups, [0, 1, 0, 2]);
    let error = read_groups(&source, &dataset.encoder, &options, "whom").unwrap_err();
    assert!(error.to_string().contains("there is no group column \"whom\""), "{error}");
    let libsvm = Source::memory("t.svm", "1 1:2\n0 1:3\n".as_bytes());
    let error = read_groups(&libsvm, &dataset.encoder, &options, "who").unwrap_err();
    assert!(error.to_string().contains("has no named columns"), "{error}");
}
