//! Whole groups are dealt to parts by one rule, for any number of classes.

use std::collections::HashMap;

use properloss::proper::deal_groups;

/// Labels of `classes`, the last of them rare, and groups of one to seven rows.
fn rows(count: usize, classes: u32) -> (Vec<u32>, Vec<u32>) {
    let mut state = 5u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut groups = Vec::new();
    let mut group = 0;
    while groups.len() < count {
        for _ in 0..=next(7) {
            groups.push(group);
        }
        group += 1;
    }
    groups.truncate(count);
    let label = |n: u64| if n < 4 { classes - 1 } else { (n % u64::from(classes - 1)) as u32 };
    ((0..count).map(|_| label(next(100))).collect(), groups)
}

#[test]
fn groups_stay_together_and_every_class_is_near_its_share() {
    for classes in [2, 3, 5] {
        let (labels, groups) = rows(900, classes);
        for shares in [vec![0.2; 5], vec![0.75, 0.25], vec![0.9, 0.1]] {
            for seed in 0..4 {
                let part = deal_groups(&labels, &groups, &shares, seed).unwrap();
                let mut home = HashMap::new();
                for (&group, &part) in groups.iter().zip(&part) {
                    assert_eq!(*home.entry(group).or_insert(part), part, "group {group} is apart");
                }
                for class in 0..classes {
                    let own = || (0..900).filter(|&i| labels[i] == class);
                    let total = own().count() as f64;
                    for (k, share) in shares.iter().enumerate() {
                        let here = own().filter(|&i| part[i] as usize == k).count() as f64;
                        // A group has at most seven rows.
                        let off = (here - share * total).abs();
                        assert!(off <= 7.0, "{here} of {total} in part {k} of {shares:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn names_of_groups_change_nothing_and_the_seed_does() {
    let (labels, groups) = rows(400, 3);
    let shares = [0.25; 4];
    let first = deal_groups(&labels, &groups, &shares, 0).unwrap();
    // Other numbers, in another order.
    let renamed: Vec<u32> = groups.iter().map(|group| 4_000_000_000 - 7 * group).collect();
    assert_eq!(deal_groups(&labels, &renamed, &shares, 0).unwrap(), first);
    assert_ne!(deal_groups(&labels, &groups, &shares, 1).unwrap(), first);
}

#[test]
fn a_small_case_by_hand() {
    // Sizes 3, 2, 2, 1: the largest to part 0, the next two to the emptier part of their class.
    let groups = [0, 0, 0, 1, 1, 2, 2, 3];
    let labels = [0, 0, 1, 0, 1, 0, 1, 0];
    // Class 0 has 5 rows, class 1 has 3. After {0,0,1}: part 0 has (.4, .333), part 1 nothing.
    // {0,1}: growth in part 0 is .2 (.2 + .8) + .333 (.333 + .667) = .533, in part 1 .151: part 1.
    // {0,1} again: part 0 .533, part 1 .2 (.2 + .4) + .333 (.333 + .667) = .453: part 1.
    // {0}: part 0 .2 (.2 + .8) = .2, part 1 .2 (.2 + .8) = .2, and part 0 has 3 rows, part 1 has 4: part 0.
    for seed in 0..8 {
        let part = deal_groups(&labels, &groups, &[0.5, 0.5], seed).unwrap();
        assert_eq!(part, [0, 0, 0, 1, 1, 1, 1, 0], "seed {seed}");
    }
}

#[test]
fn mistakes_are_named() {
    let few = deal_groups(&[0, 1, 0], &[4, 4, 9], &[1.0 / 3.0; 3], 0).unwrap_err();
    assert_eq!(few.to_string(), "groups has 2 value(s); at least 3 are needed");
    let short = deal_groups(&[0, 1, 0], &[4, 4], &[0.5; 2], 0).unwrap_err();
    assert!(short.to_string().starts_with("groups has 2 value(s), but labels has 3"));
}
