"""Files that are none, names that are odd, and options that no one means."""

import os
import socket
import subprocess
import threading


def fed(path, content):
    """A named pipe that gets these bytes once."""
    os.mkfifo(path)

    def feed():
        try:
            with open(path, "wb") as pipe:
                pipe.write(content)
        except OSError:
            pass
    threading.Thread(target=feed, daemon=True).start()


def special_files(run, folder):
    good = (folder / "good.csv").read_bytes()
    (folder / "folder.csv").mkdir(exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket.csv"))
    os.symlink("loop.csv", folder / "loop.csv")
    os.symlink("nowhere", folder / "dangling.csv")
    odd = ["new\nline.csv", "tab\t.csv", "\x1b[31mred.csv", "quote\".csv", "a,b.csv", "-dash.csv", "--out.csv", "*.csv", "x" * 251 + ".csv",
           "ünï.csv", os.fsdecode(b"\xff\xfe.csv"), " ", "%s%n.csv", "a;b|c&.csv", "café\u0301\u202e.csv"]
    inputs = ["folder.csv", ".", "/", "socket.csv", "loop.csv", "dangling.csv", "", "nowhere/at/all.csv", "good.csv/inside", "/dev/null",
              "/dev/zero", "/dev/urandom", "/dev/full", "/proc/self/mem", "/proc/self/environ", "/proc/kmsg", "/proc/self/fd/99", "x" * 5000]
    for name in inputs:
        for words in (["fit", name, "-o", "out.json", "--memory", "100MB"], ["predict", "good.json", name, "-o", "out.json", "--memory", "100MB"],
                      ["predict", name, "good.csv", "-o", "out.json"], ["transfer", name, "good.csv", "-o", "out.json"],
                      ["export", name, "-o", "out.json"], ["fit", "good.csv", "-o", "out.json", "--test", name],
                      ["calibrate", name, "--score", "a", "--label", "y", "-o", "out.json", "--memory", "100MB"]):
            if run.wants(f"path {name}"):
                run.command(f"path {name[:40]}", words, "out.json")
        for words in (["inspect", name], ["evaluate", "good.json", name, "--memory", "100MB"], ["evaluate", name, "good.csv"], ["compare", name, "--memory", "100MB"]):
            if run.wants(f"path {name}"):
                run.command(f"path {name[:40]}", words)
    for name in odd:
        if not run.wants(f"name {name}"):
            continue
        for content in (good, b"a,b,y\n1,x,no\n2,3,yes\n"):
            (folder / name).write_bytes(content)
            asked = f"./{name}"
            run.command(f"name {name!r}", ["fit", asked, "-o", "out.json", "--quiet"], "out.json")
            run.command(f"name {name!r}", ["predict", "good.json", asked, "-o", "out.json", "--quiet"], "out.json")
            run.command(f"name {name!r}", ["inspect", asked])
        os.unlink(folder / name)
        run.command(f"name {name!r}", ["fit", "good.csv", "-o", f"./{name}.json", "--quiet"])
        run.command(f"name {name!r}", ["predict", "good.json", "good.csv", "-o", f"./{name}", "--quiet"])
    outputs = ["/dev/full", "/dev/null", "folder.csv", "nowhere/out.json", "good.csv/out", "", "/", ".", "..", "/proc/self/out", "loop.csv", "socket.csv",
               "x" * 5000, "y" * 255, "good.csv", "out.json/"]
    for name in outputs:
        for words in (["fit", "good.csv", "-o", name], ["predict", "good.json", "good.csv", "-o", name], ["export", "good.json", "-o", name, "--format", "c"],
                      ["fit", "good.csv", "-o", "out.json", "--checkpoint", name], ["report", "good.json", "good.csv", "-o", name],
                      ["fit", "good.csv", "-o", "out.json", "--method", "labels", "--loss-out", name], ["synth", "single-index", "--rows", "50", "-o", name],
                      ["inspect", "good.json", "--plot", name], ["calibrate", "good.csv", "--score", "a", "--label", "y", "-o", name],
                      ["fit", "good.csv", "-o", "out.json", "--memory", "30MB", "--cache", name]):
            if run.wants(f"output {name}"):
                run.command(f"output {name[:40]}", words)
                (folder / "good.csv").write_bytes(good)
    for k, content in enumerate([b"", good, b"a", good * 2000, b"\x1f\x8b", b"PAR1"]):
        for words in (["fit", "pipe.csv", "-o", "out.json", "--memory", "100MB"], ["predict", "good.json", "pipe.csv", "-o", "out.json"], ["inspect", "pipe.csv"]):
            if run.wants(f"pipe {k}"):
                fed(folder / "pipe.csv", content)
                run.command(f"pipe {k}", words, "out.json" if "-o" in words else None)
                os.unlink(folder / "pipe.csv")
    for k, command in enumerate(["cat /dev/zero", "yes 1,2,0", "yes 1", "printf ''", "printf '\\n'", "cat good.csv; yes 1,2,no"]):
        for words in (["fit", "-", "-o", "out.json", "--memory", "50MB"], ["fit", "-", "-o", "out.json", "--format", "libsvm", "--memory", "50MB"],
                      ["calibrate", "-", "--score", "a", "--label", "y", "-o", "out.json", "--memory", "50MB"]):
            if run.wants(f"stream {k}"):
                # What has no end is cut at 300 MB, so that a copy of it on the disk has one.
                pipe = subprocess.Popen(f"({command}) | head -c 300000000", shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                run.command(f"stream {k}", words, "out.json", pipe.stdout)
                pipe.stdout.close()
                pipe.kill()
                pipe.wait()


def options(run, folder):
    """Numbers and words that no one means, and checkpoints of something else."""
    numbers = ["nan", "inf", "-inf", "1e400", "-1", "0", "1e308", "18446744073709551615", "18446744073709551616", "", "x", "1e18", "0x10", "１"]
    for option in ["--cv", "--seed", "--threads", "--memory", "--test-share", "--test-last", "--checkpoint-every", "--l2 --method logistic",
                   "--max-iter --method labels", "--tol --method labels", "--step --method labels", "--slope-max --method labels", "--kappa --method labels",
                   "--max-norm --method labels", "--end-slope --method labels", "--theta --certified", "--freeze-after --certified", "--class-weight"]:
        for number in numbers:
            if run.wants(f"option {option}") and not (option == "--threads" and number in ("18446744073709551615", "1e18")):
                first, *more = option.split()
                more += ["--checkpoint", "c.state"] if first == "--checkpoint-every" else []
                run.command(f"option {option}", ["fit", "good.csv", "-o", "out.json", "--quiet", *more, f"{first}={number}"], "out.json")
    for option in ["--rows", "--features", "--noise", "--floor", "--ceiling", "--norm", "--intercept", "--seed"]:
        for number in numbers:
            # Rows without end are asked for: they are written as they come.
            if run.wants(f"option {option}") and not (option == "--rows" and len(number) > 3):
                words = ["synth", "single-index", "-o", "s.csv", "--quiet", "--memory", "100MB", f"{option}={number}"]
                run.command(f"option synth {option}", words + ([] if option == "--rows" else ["--rows=20"]), "s.csv")
    for option in ["--threshold", "--columns", "--keep", "--unknown-category"]:
        for number in numbers:
            if run.wants(f"option {option}"):
                run.command(f"option predict {option}", ["predict", "good.json", "good.csv", "-o", "p.csv", f"{option}={number}"], "p.csv")
    for number in numbers:
        if run.wants("option confidence"):
            run.command("option confidence", ["evaluate", "good.json", "good.csv", "--certificate", f"--confidence={number}"])
            run.command("option folds", ["compare", "good.csv", f"--folds={number}", "--methods", "logistic"])
            run.command("option smoothness", ["calibrate", "good.csv", "--score", "a", "--label", "y", "-o", "c.csv", f"--smoothness={number}"], "c.csv")
    if not run.wants("checkpoint"):
        return
    states = {}
    for method in ("labels", "glmtron", "proper"):
        words = f"fit slow.csv -o s.json --quiet --method {method} --checkpoint {method}.state --checkpoint-every 0"
        (folder / "slow.csv").write_text("a,b,y\n" + "".join(f"{k * 37 % 1009},{k * 53 % 997},{(k * 37 % 1009 + k * 7 % 400) // 700 % 2}\n" for k in range(20_000)))
        child = subprocess.Popen([run.program, *words.split()], cwd=folder)
        for _ in range(4000):
            if (folder / f"{method}.state").exists() or child.poll() is not None:
                break
            threading.Event().wait(0.002)
        child.kill()
        child.wait()
        if (folder / f"{method}.state").exists():
            states[method] = (folder / f"{method}.state").read_bytes()
    print("checkpoints to damage:", ", ".join(states))
    for method, state in states.items():
        for name, content in [("as it is", state), ("cut", state[: len(state) // 2]), ("empty", b""), ("twice", state + state), ("zeros", bytes(len(state))),
                              ("flipped", state[:100] + bytes([state[100] ^ 1]) + state[101:]), ("text", b"{}"), ("upper", state.upper())]:
            for words in (f"fit good.csv --method {method}", f"fit slow.csv --method {method} --seed 5", "fit slow.csv --method labels --kappa 0.5",
                          "fit slow.csv --method glmtron --max-iter 3", "fit slow.csv --method proper --cv 3"):
                (folder / "c.state").write_bytes(content)
                run.command(f"checkpoint {method} {name}", f"{words} -o out.json --checkpoint c.state --quiet", "out.json")
