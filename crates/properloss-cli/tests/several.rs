//! Three classes or more on the command line: every command, every format of labels, bad inputs.

mod common;

use common::Sandbox;
use serde_json::Value;

/// Three species whose lengths and widths overlap, with a weight, from a fixed stream.
fn species(rows: usize) -> String {
    let mut uniform = common::uniform(7);
    let mut text = "length,width,place,w,species\n".to_owned();
    for i in 0..rows {
        let (name, centre) = [("cod", 0.0), ("eel", 1.0), ("ray", 2.0)][i % 3];
        let noise: f64 = (0..6).map(|_| uniform()).sum::<f64>() - 3.0;
        let place = ["north", "south"][usize::from(uniform() < 0.3 + 0.2 * centre)];
        let width = 5.0 * uniform();
        text.push_str(&format!("{:.4},{width:.4},{place},{},{name}\n", centre + noise, 1 + i % 2));
    }
    text
}

fn fitted(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.write("train.csv", species(300));
    sandbox.write("new.csv", species(60));
    let outcome = sandbox.run("fit train.csv -o model.json --ignore w");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("3 classes: \"cod\" 100, \"eel\" 100, \"ray\" 100"));
    assert!(outcome.stderr.contains("guarantee: at every point the log-loss is at most"));
    sandbox
}

fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
    (lines.next().unwrap(), lines.collect())
}

/// The probabilities of a row by hand, from nothing but the file.
fn by_hand(model: &Value, row: &[String]) -> Vec<f64> {
    let x = [
        row[0].parse::<f64>().unwrap(),
        row[1].parse().unwrap(),
        f64::from(u8::from(row[2] == "north")),
        f64::from(u8::from(row[2] == "south")),
    ];
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let weights = model["weights"].as_array().unwrap();
    let z: Vec<f64> = numbers(&model["intercepts"])
        .iter()
        .zip(weights)
        .map(|(b, w)| b + numbers(w).iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
        .collect();
    let softmax = |t: f64| -> Vec<f64> {
        let e: Vec<f64> = z.iter().map(|z| (t * z).exp()).collect();
        e.iter().map(|v| v / e.iter().sum::<f64>()).collect()
    };
    let mut p = numbers(&model["link"]["floor"]);
    for part in model["link"]["softmax"].as_array().unwrap() {
        let s = softmax(part["t"].as_f64().unwrap());
        p.iter_mut().zip(s).for_each(|(p, s)| *p += part["mass"].as_f64().unwrap() * s);
    }
    for ramp in model["link"]["ramps"].as_array().unwrap() {
        let (k, mass) = (ramp["class"].as_u64().unwrap() as usize, ramp["mass"].as_f64().unwrap());
        let (knots, values, s) = (numbers(&ramp["p"]), numbers(&ramp["r"]), softmax(1.0));
        let i = knots[1..knots.len() - 1].iter().filter(|knot| **knot <= s[k]).count();
        let slope = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i]);
        let r = values[i] + slope * (s[k] - knots[i]);
        for j in 0..p.len() {
            p[j] += mass * if j == k { r } else { (1.0 - r) * s[j] / (1.0 - s[k]) };
        }
    }
    p
}

#[test]
fn probabilities_are_those_of_the_file() {
    let sandbox = fitted("several-predict");
    let outcome = sandbox
        .succeed("predict model.json new.csv --columns probability,score,class --keep species");
    let (names, rows) = table(&outcome.stdout);
    assert_eq!(
        names,
        "species,probability_cod,probability_eel,probability_ray,score_cod,score_eel,score_ray,class"
            .split(',')
            .collect::<Vec<_>>()
    );
    let model: Value = serde_json::from_str(&sandbox.read("model.json")).unwrap();
    assert_eq!((&model["version"], &model["format"]), (&2.into(), &"properloss-model".into()));
    let (_, data) = table(&sandbox.read("new.csv"));
    assert_eq!(rows.len(), data.len());
    for (row, data) in rows.iter().zip(&data) {
        let p: Vec<f64> = row[1..4].iter().map(|text| text.parse().unwrap()).collect();
        for (p, q) in p.iter().zip(by_hand(&model, data)) {
            // A few roundings of numbers near 1.
            assert!((p - q).abs() < 1e-13, "{p} {q}");
        }
        let best = (0..3).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        assert_eq!(row[7], ["cod", "eel", "ray"][best]);
        assert_eq!(row[0], data[4]);
    }
    let json = sandbox.run("predict model.json new.csv --json --columns probability,class");
    let first: Value = serde_json::from_str(json.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["probability"]["eel"], rows[0][2].parse::<f64>().unwrap());
}

#[test]
fn a_model_is_measured_and_drawn() {
    let sandbox = fitted("several-evaluate");
    let found = sandbox.succeed("evaluate model.json new.csv --json --plot reliability.svg").json();
    let predicted = sandbox.run("predict model.json new.csv --columns probability,class");
    let (_, rows) = table(&predicted.stdout);
    let (_, data) = table(&sandbox.read("new.csv"));
    let names = ["cod", "eel", "ray"];
    let (mut loss, mut brier, mut right) = (0.0, 0.0, 0.0);
    let mut confusion = [[0.0; 3]; 3];
    for (row, data) in rows.iter().zip(&data) {
        let p: Vec<f64> = row[..3].iter().map(|text| text.parse().unwrap()).collect();
        let y = names.iter().position(|name| *name == data[4]).unwrap();
        let guess = names.iter().position(|name| *name == row[3]).unwrap();
        loss -= p[y].ln();
        brier += (0..3).map(|k| (p[k] - f64::from(u8::from(k == y))).powi(2)).sum::<f64>();
        right += f64::from(u8::from(y == guess));
        confusion[y][guess] += 1.0;
    }
    let n = data.len() as f64;
    for (name, value) in [("log_loss", loss / n), ("brier", brier / n), ("accuracy", right / n)] {
        let found = found[name].as_f64().unwrap();
        assert!((found - value).abs() < 1e-12, "{name}: {found} {value}");
    }
    assert_eq!(found["confusion"], serde_json::json!(confusion));
    assert_eq!(found["classes"][2]["class"], "ray");
    assert!(sandbox.read("reliability.svg").contains("Reliability, class &quot;ray&quot;"));
    let text = sandbox.run("evaluate model.json new.csv").stdout;
    for words in ["log-loss", "each class against the rest", "confusion", "miscalibration"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let weighed = sandbox.run("evaluate model.json new.csv --weight w --json").json();
    assert_ne!(weighed["log_loss"], found["log_loss"]);

    let shown = sandbox.succeed("inspect model.json --plot link.svg --json").json();
    let tau = shown["tau"].as_f64().unwrap();
    assert!(tau >= 1.0 && (shown["log_loss_bound"].as_f64().unwrap() - tau.ln()).abs() < 1e-12);
    assert!(shown["held_out_cost"].is_f64());
    assert!(sandbox.read("link.svg").contains("against the rest"));
    let text = sandbox.run("inspect model.json").stdout;
    for words in ["tau", "held out", "nats a row against softmax regression", "\"cod\", \"eel\""] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn a_report_has_a_picker_and_the_learned_link() {
    let sandbox = fitted("several-report");
    let said = sandbox.succeed("report model.json new.csv -o page.html --json").json();
    let page = sandbox.read("page.html");
    assert_eq!((&said["rows"], &said["bytes"]), (&60.into(), &page.len().into()));
    assert!(page.len() < 1_000_000);
    let measured = sandbox.run("evaluate model.json new.csv --json").json();
    let shown = |value: f64| properloss_report::text::shown(value);
    let loss = shown(measured["log_loss"].as_f64().unwrap());
    assert!(page.contains(&format!("<dt>log-loss</dt><dd>{loss}</dd>")), "{loss}");
    for (k, name) in ["cod", "eel", "ray"].iter().enumerate() {
        assert!(page.contains(&format!("<option value=\"{}\">{name} (", k + 1)), "{name}");
        for figure in ["link-a", "weights-a", "reliability-a"] {
            assert!(page.contains(&format!("figure-{figure}-{}\"", k + 1)), "{figure} of {name}");
        }
    }
    // The data behind the curve: the link at each of its log-odds, as `inspect` has it at -ln 3.
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &page[start..start + page[start..].find("</script>").unwrap()];
    let data: Value = serde_json::from_str(data).unwrap();
    let link = &data["figures"]["link-a-2"];
    assert_eq!(link["names"], serde_json::json!(["log-odds", "probability", "softmax"]));
    let model: Value = serde_json::from_str(&sandbox.read("model.json")).unwrap();
    let mixture: properloss_data::model_file::MixtureFile =
        serde_json::from_value(model["link"].clone()).unwrap();
    let mixture = mixture.build().unwrap();
    let column = |k: usize| link["columns"][k].as_array().unwrap();
    for ((u, p), s) in column(0).iter().zip(column(1)).zip(column(2)) {
        // The page keeps five digits: half a unit in the fifth is at most 5e-5 of the number.
        let shown = |number: &Value, expected: f64| {
            let number = number.as_f64().unwrap();
            assert!((number - expected).abs() <= 5.0001e-5 * expected, "{number} {expected}");
        };
        let u = u.as_f64().unwrap();
        shown(p, properloss_report::class_learned::along(&mixture, 1, u));
        shown(s, 1.0 / (1.0 + (-u).exp()));
    }
    // Provenance, from the file alone.
    for words in ["trained on", "train.csv", "training rows", "option cv", "a floor of noise"] {
        assert!(page.contains(words), "{words}");
    }
    // Two side by side; models of other classes are refused, and so are other things.
    let outcome = sandbox.run("fit train.csv -o other.json --ignore w,width");
    assert_eq!(outcome.code, 0);
    let outcome = sandbox.run("report model.json new.csv --compare other.json -o two.html");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let two = sandbox.read("two.html");
    assert!(two.contains("figure-link-b-3\"") && two.len() < 1_000_000);
    sandbox.run("fit train.csv -o two.json --ignore w --positive ray --negative cod,eel");
    for line in [
        "report model.json new.csv --compare two.json",
        "report two.json new.csv --compare model.json",
    ] {
        let outcome = sandbox.run(line);
        assert_eq!(outcome.code, 1, "{line}");
        for words in
            ["its classes are", "\"cod\", \"eel\", \"ray\"", "hint: compare models of the same"]
        {
            assert!(outcome.stderr.contains(words), "{line}: {}", outcome.stderr);
        }
    }
    let outcome = sandbox.run("report model.json new.csv --label length");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("is not a class of the model"), "{}", outcome.stderr);
    assert_eq!(sandbox.leftovers(), [""; 0]);
    // From standard input, weighed.
    sandbox.run("fit train.csv -o weighed.json --weight w");
    let rows = sandbox.read("new.csv");
    let outcome = sandbox.run_with("report weighed.json - -o stdin.html", rows.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(sandbox.read("stdin.html").contains("60 rows (weighted)"));
}

#[test]
fn softmax_regression_stands_beside_it() {
    let sandbox = Sandbox::new("several-compare");
    sandbox.write("train.csv", species(240));
    let found = sandbox.run("compare train.csv --ignore w --folds 3 --json").json();
    let names: Vec<&str> = found["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["proper", "softmax"]);
    for method in found["methods"].as_array().unwrap() {
        let loss = method["mean"]["log_loss"].as_f64().unwrap();
        // Better than the base rates.
        assert!(loss > 0.0 && loss < 3f64.ln(), "{loss}");
        assert_eq!(method["rounds"].as_array().unwrap().len(), 3);
    }
    let text = sandbox.run("compare train.csv --ignore w --test-share 0.3").stdout;
    assert!(text.starts_with("method") && text.contains("softmax"), "{text}");
    let outcome = sandbox.run("compare train.csv --methods labels");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("--methods labels learns two classes"), "{}", outcome.stderr);
}

#[test]
fn scores_of_several_classes_are_calibrated() {
    let sandbox = fitted("several-calibrate");
    // Scores that are four times too large, columns out of order.
    let predicted = sandbox.run("predict model.json new.csv --columns score --keep species");
    let (_, rows) = table(&predicted.stdout);
    let mut text = "score_ray,score_cod,score_eel,y\n".to_owned();
    for row in &rows {
        let z: Vec<f64> = row[1..4].iter().map(|text| 4.0 * text.parse::<f64>().unwrap()).collect();
        text.push_str(&format!("{:?},{:?},{:?},{}\n", z[2], z[0], z[1], row[0]));
    }
    sandbox.write("scores.csv", text);
    let outcome = sandbox.run("calibrate scores.csv --model calibrated.json");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let (names, calibrated) = table(&outcome.stdout);
    assert_eq!(names, ["probability_cod", "probability_eel", "probability_ray"]);
    // The model is the same function.
    let again = sandbox.run("predict calibrated.json scores.csv");
    let (_, again) = table(&again.stdout);
    for (a, b) in calibrated.iter().flatten().zip(again.iter().flatten()) {
        let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }
    // Its held-out log-loss is below that of the scores as they are.
    let model: Value = serde_json::from_str(&sandbox.read("calibrated.json")).unwrap();
    assert!(model["fitted"]["learned"]["held_out_cost"].as_f64().unwrap() < -0.1);
    // Probabilities go in, too.
    let joined: String = std::iter::once("cod,eel,ray,y".to_owned())
        .chain(calibrated.iter().zip(&rows).map(|(p, row)| format!("{},{}", p.join(","), row[0])))
        .map(|line| line + "\n")
        .collect();
    sandbox.write("p.csv", joined);
    let outcome = sandbox.run("calibrate p.csv");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("calibrated 60 probabilities of 3 classes"));
}

/// Several fish of one boat are alike.
fn catches(rows: usize) -> String {
    let mut lines = species(rows).lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
    let head = format!("id,boat,{}\n", lines.next().unwrap());
    let line = |(i, line): (usize, String)| format!("\"fish, {i}\",boat {},{line}\n", i / 4);
    head + &lines.enumerate().map(line).collect::<String>()
}

#[test]
fn groups_are_kept_together() {
    let sandbox = Sandbox::new("several-groups");
    sandbox.write("catches.csv", catches(300));
    let outcome = sandbox
        .run("fit catches.csv -o model.json --ignore id,w --group boat --test-share 0.3 --json");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let fitted = outcome.json();
    assert!(fitted["metrics"]["test"]["log_loss"].is_f64());
    // Other folds, other weights: and the boat is no feature.
    sandbox.run("fit catches.csv -o plain.json --ignore id,w,boat");
    sandbox.run("fit catches.csv -o grouped.json --ignore id,w --group boat");
    let read = |name: &str| -> Value { serde_json::from_str(&sandbox.read(name)).unwrap() };
    let (plain, grouped) = (read("plain.json"), read("grouped.json"));
    assert_eq!(plain["feature_names"], grouped["feature_names"]);
    assert_ne!(plain["weights"], grouped["weights"]);
    let found =
        sandbox.run("compare catches.csv --ignore id,w --group boat --folds 3 --json").json();
    assert_eq!((&found["groups"], &found["rows"]), (&"boat".into(), &300.into()));
    let [first, second] = [&found["methods"][0], &found["methods"][1]];
    assert_eq!(first["log_loss_difference"]["mean"], 0.0);
    let difference = second["log_loss_difference"]["mean"].as_f64().unwrap();
    let losses = |m: &Value| m["mean"]["log_loss"].as_f64().unwrap();
    assert!((difference - (losses(second) - losses(first))).abs() < 1e-12);
    assert!(second["log_loss_standard_error"].as_f64().unwrap() > 0.0);
    let outcome = sandbox.run("compare catches.csv --ignore id,w,boat --group place --folds 3");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("2 group(s) cannot be dealt to 3 parts"), "{}", outcome.stderr);
}

#[test]
fn calibrations_keep_columns_and_groups() {
    let sandbox = Sandbox::new("several-calibrate-keep");
    sandbox.write("catches.csv", catches(300));
    sandbox.run("fit catches.csv -o model.json --ignore id,w,boat");
    let outcome = sandbox
        .run("predict model.json catches.csv --columns score --keep id,boat,species -o scores.csv");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let line = "calibrate scores.csv --label species --ignore id --group boat";
    let outcome =
        sandbox.run(&format!("{line} --keep id,boat -o kept.csv --model cal.json --json"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let said = outcome.json();
    assert_eq!((&said["groups"], &said["rows"]), (&"boat".into(), &300.into()));
    assert_eq!(said["written"], serde_json::json!(["kept.csv", "cal.json"]));
    assert!(said["held_out_log_loss"]["result"].as_f64().unwrap() < 3f64.ln());
    let kept = sandbox.read("kept.csv");
    assert!(kept.starts_with(
        "id,boat,probability_cod,probability_eel,probability_ray\n\"fish, 0\",boat 0,0."
    ));
    // The same numbers without the columns, and by the model.
    let plain = sandbox.run(line).stdout;
    let by_model = sandbox.run("predict cal.json scores.csv --keep id,boat").stdout;
    for ((kept, plain), by_model) in kept.lines().zip(plain.lines()).zip(by_model.lines()).skip(1) {
        assert!(kept.ends_with(&format!(",{plain}")), "{kept} {plain}");
        let numbers = |line: &str| -> Vec<f64> {
            line.split(',').rev().take(3).map(|text| text.parse().unwrap()).collect()
        };
        for (a, b) in numbers(kept).iter().zip(numbers(by_model)) {
            assert!((a - b).abs() < 1e-13, "{a} {b}");
        }
    }
    // As JSON lines, and for rows of another file.
    sandbox.write(
        "some.csv",
        sandbox.read("scores.csv").lines().take(3).collect::<Vec<_>>().join("\n"),
    );
    let outcome = sandbox.run(&format!("{line} --apply some.csv --keep boat,id --json"));
    let lines: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["id"], &lines[1]["boat"]), (&"fish, 1".into(), &"boat 0".into()));
    assert!(lines[1]["probability"]["eel"].is_f64());
    let outcome = sandbox.run(&format!("{line} --keep ship"));
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("there is no keep column \"ship\""), "{}", outcome.stderr);
}

#[test]
fn labels_of_other_formats() {
    let sandbox = Sandbox::new("several-formats");
    let (_, rows) = table(&species(90));
    let number = |name: &str| ["cod", "eel", "ray"].iter().position(|n| *n == name).unwrap() + 3;
    let line = |row: &Vec<String>| format!("{} 1:{} 2:{}\n", number(&row[4]), row[0], row[1]);
    sandbox.write("train.libsvm", rows.iter().map(line).collect::<String>());
    let outcome = sandbox.run("fit train.libsvm -o model.json");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("\"3\" 30, \"4\" 30, \"5\" 30"), "{}", outcome.stderr);
    assert!(sandbox.run("evaluate model.json train.libsvm --json").json()["accuracy"].is_f64());
    let header = sandbox.run("predict model.json train.libsvm").stdout;
    assert!(header.starts_with("probability_3,probability_4,probability_5\n"), "{header}");

    let mut images = vec![0, 0, 8, 2, 0, 0, 0, 90, 0, 0, 0, 2];
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, 90];
    for row in &rows {
        let pixel = |text: &String| (20.0 * (text.parse::<f64>().unwrap() + 4.0)) as u8;
        images.extend([pixel(&row[0]), pixel(&row[1])]);
        labels.push(number(&row[4]) as u8);
    }
    sandbox.write("train-images-idx3-ubyte", images);
    sandbox.write("train-labels-idx1-ubyte", labels);
    let outcome = sandbox.run("fit train-images-idx3-ubyte -o images.json --test-share 0.3");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let found = sandbox.run("evaluate images.json train-images-idx3-ubyte --json");
    assert_eq!(found.json()["rows"], 90, "{}", found.stderr);
}

#[test]
fn the_rule_for_rare_classes_and_weights() {
    let sandbox = Sandbox::new("several-rare");
    // One row of a fourth class: kept, never held out.
    sandbox.write("one.csv", species(90) + "9.0,1.0,north,1,whale\n");
    let outcome = sandbox.run("fit one.csv -o one.json --ignore w --json");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.json()["classes"][3], "whale");
    // A weight of 2 is a duplicate: as many rows of the class, the same base rates.
    let outcome = sandbox.run("fit one.csv -o weighed.json --weight w");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // The order is kept where that is asked for.
    sandbox.run("fit one.csv -o order.json --ignore w --preserve-order");
    assert_eq!(sandbox.run("inspect order.json --json").json()["keeps_order"], true);
}

#[test]
fn mistakes_are_sentences() {
    let sandbox = fitted("several-mistakes");
    let fails = |line: &str, code: i32, words: &[&str]| {
        let outcome = sandbox.run(line);
        assert_eq!(outcome.code, code, "{line}: {}", outcome.stderr);
        for words in words {
            assert!(outcome.stderr.contains(words), "{words:?} in {line}: {}", outcome.stderr);
        }
        assert!(outcome.stderr.contains("hint: "), "{line}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{line}");
        assert_eq!(sandbox.leftovers(), [""; 0], "{line}");
    };
    // As many classes as rows, and a measurement in the place of the label.
    let each: String = (0..30).map(|i| format!("{i},name{i}\n")).collect();
    sandbox.write("each.csv", format!("a,y\n{each}"));
    fails("fit each.csv -o x.json", 1, &["30 different values in 30 rows", "--label"]);
    let floats: String = (0..90).map(|i| format!("{i},{}\n", f64::from(i % 30) / 7.0)).collect();
    sandbox.write("floats.csv", format!("a,y\n{floats}"));
    fails("fit floats.csv -o x.json", 1, &["as of a measurement", "--label"]);
    let many: String = (0..3000).map(|i| format!("{i},{}\n", i % 1200)).collect();
    sandbox.write("many.csv", format!("a,y\n{many}"));
    fails("fit many.csv -o x.json", 1, &["no classes", "--label"]);
    // Every row of a class has weight 0.
    let (_, rows) = table(&species(30));
    let mut zero = "length,w,y\n".to_owned();
    for row in rows {
        let weight = u8::from(row[4] != "eel");
        zero.push_str(&format!("{},{weight},{}\n", row[0], row[4]));
    }
    sandbox.write("zero.csv", zero);
    fails("fit zero.csv --weight w -o x.json", 1, &["every weight of class \"eel\" is zero"]);
    // Options of two classes.
    for option in ["--loss-out l.json", "--checkpoint c", "--smoothness none", "--class-weight 1,2"]
    {
        fails(&format!("fit train.csv -o x.json {option}"), 2, &[]);
    }
    fails("fit train.csv -o x.json --method labels", 1, &["learns two classes"]);
    fails("predict model.json new.csv --threshold 0.2", 2, &["--threshold is for two classes"]);
    fails("evaluate model.json new.csv --certificate", 2, &["--certificate is for two classes"]);
    fails("fit train.csv -o x.json --positive cod", 1, &["is a third class"]);
    // A label that the model does not know.
    sandbox.write("other.csv", species(6) + "1.0,1.0,north,1,whale\n");
    fails("evaluate model.json other.csv", 1, &["line 8", "\"whale\" is not a class of the model"]);
    // Files that were damaged.
    let text = sandbox.read("model.json");
    sandbox.write(
        "repeat.json",
        text.replace("\"classes\": [\"cod\", \"eel\"", "\"classes\": [\"cod\", \"cod\""),
    );
    fails("predict repeat.json new.csv", 1, &["classes[1]", "\"cod\" again, as classes[0]"]);
    sandbox.write("newer.json", text.replace("\"version\": 2", "\"version\": 3"));
    fails("predict newer.json new.csv", 1, &["version 3"]);
    // Scores of some classes only.
    sandbox
        .write("scores.csv", "cod,eel,y\n1,2,cod\n2,1,eel\n1,1,ray\n1,2,cod\n2,1,eel\n1,1,ray\n");
    fails("calibrate scores.csv", 1, &["2 column(s) of scores, but the label has 3 classes"]);
}

/// The answers of an exported Python function for the rows of a table; `None` without a python3.
fn python_answers(
    sandbox: &Sandbox,
    module: &str,
    call: &str,
    rows: &[Vec<String>],
) -> Option<Vec<f64>> {
    let literal = |row: &Vec<String>| format!("({}, {}, '{}')", row[0], row[1], row[2]);
    let rows: Vec<String> = rows.iter().map(literal).collect();
    let script = format!(
        "import {module}\nfor row in [{}]:\n    print(*{module}.{call}(row))\n",
        rows.join(", ")
    );
    sandbox.write("run.py", script.replace("*model2.probability(row)", "model2.probability(row)"));
    let run = std::process::Command::new("python3")
        .arg("run.py")
        .current_dir(&sandbox.folder)
        .output()
        .ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    Some(text.split_whitespace().map(|word| word.parse().unwrap()).collect())
}

#[test]
fn models_are_exported() {
    let sandbox = fitted("several-export");
    sandbox.succeed("fit train.csv -o two.json --ignore w --positive ray --negative cod,eel");
    for (model, name) in [("model.json", "model"), ("two.json", "model2")] {
        for (extension, words) in [
            ("onnx", "probabilities"),
            ("c", "properloss_probabilit"),
            ("sql", "SELECT"),
            ("py", "def "),
        ] {
            let outcome = sandbox.run(&format!("export {model} -o {name}.{extension}"));
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            assert!(outcome.stderr.starts_with(&format!("wrote {name}.{extension} (")));
            let content = std::fs::read(sandbox.path(&format!("{name}.{extension}"))).unwrap();
            assert!(String::from_utf8_lossy(&content).contains(words), "{name}.{extension}");
        }
        let portable = sandbox.run(&format!("export {model} -o portable.onnx --portable"));
        assert_eq!(portable.code, 0, "{}", portable.stderr);
        let to_stdout = sandbox.run(&format!("export {model} -o - --format python"));
        assert_eq!(to_stdout.stdout, sandbox.read(&format!("{name}.py")));
        let refused = sandbox.run(&format!("export {model} -o x.c --portable"));
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("--portable is for --format onnx"), "{}", refused.stderr);
        let (_, data) = table(&sandbox.read("new.csv"));
        let call = if name == "model" { "probabilities" } else { "probability" };
        let Some(answers) = python_answers(&sandbox, name, call, &data) else { continue };
        let predicted = sandbox.run(&format!("predict {model} new.csv"));
        let (_, predicted) = table(&predicted.stdout);
        let predicted: Vec<f64> = predicted.iter().flatten().map(|p| p.parse().unwrap()).collect();
        assert_eq!(answers.len(), predicted.len());
        for (a, b) in answers.iter().zip(predicted) {
            assert!((a - b).abs() < 1e-12, "{model}: {a} {b}");
        }
    }
}
