// The workshop in the worker: it checks the reader's functions, gives hints and lets their model write.
// workshop.js gives `python` and `tools`, the addresses of Pyodide and of the checks, and the page's `language`,
// and loads private.js and worker.js first, from which `load` comes.
const ANSWER = `
import contextlib, io, sys
sys.path.append("/tools")
import numpy as np
from bookkit.saying import said
from bookkit.workshop import checking, playground, probes
from bookkit.workshop.texts import names_of_texts

MOST_PRINTED = 2_000  # letters that the page shows of what the reader's code prints

class Printed(io.TextIOBase):
    """What the reader's code prints, up to a limit."""

    def __init__(self):
        self.text = ""
        self.count = 0

    def write(self, text):
        self.text += text[: MOST_PRINTED - len(self.text)]
        self.count += len(text)
        return len(text)

    def shown(self):
        return self.text + (" …" if self.count > MOST_PRINTED else "")

def write(names, text, temperature, count, send):
    weights = names["read_weights"](probes.real_data())
    rope = names["rope_frequencies"](32), 1.0
    arguments = names["encode"](text), count, weights, names["CONFIG"], rope, np.random.default_rng()
    for token in names["generate"](*arguments, temperature=temperature, top_p=0.95):
        send(int(token))

def read_longer(names):
    """The loss at the end of a text twice as long as in training, with and without YaRN."""
    weights = names["read_weights"](probes.real_data())
    length = playground.TRAINED_LENGTH
    tokens = names["encode"]("") + list(playground.FIXED_TEXT[: 2 * length])
    plain = names["rope_frequencies"](32)
    ropes = {"As trained": (plain, 1.0), "With your YaRN": names["yarn"](plain, 2.0, length)}
    lines = []
    for words, rope in ropes.items():
        cache = names["new_cache"](names["CONFIG"])
        for start in range(0, 2 * length, playground.PIECE):
            piece = tokens[start : start + playground.PIECE]
            logits = names["cached_forward"](piece, weights, names["CONFIG"], rope, cache)
        largest = logits.max(axis=-1, keepdims=True)
        normal = np.log(np.exp(logits - largest).sum(axis=-1)) + largest[:, 0]
        following = tokens[start + 1 : start + 1 + len(piece)]
        loss = (normal - logits[np.arange(len(piece)), following]).mean()
        token = following[-1]
        written = []
        for _ in range(80):
            logits = names["cached_forward"]([token], weights, names["CONFIG"], rope, cache)
            token = int(np.argmax(logits[-1]))
            written.append(token)
        text = bytes(token for token in written if token < 256).decode(errors="replace")
        measured = f"{loss:.2f} nats for each of the last {len(piece)} of {2 * length:,} bytes."
        lines.append(said(f"{words}: {measured} Then it writes:\\n{text}\\n"))
    return "\\n".join(lines)

def answer(kind, step, sources, text, temperature, stage, send):
    """What the page shows, whether the step is done, and what the reader's code printed."""
    printed = Printed()
    with contextlib.redirect_stdout(printed):
        shown, finished = answer_aloud(kind, step, sources, text, temperature, stage, send)
    return shown, finished, printed.shown()

def answer_aloud(kind, step, sources, text, temperature, stage, send):
    try:
        names = names_of_texts(sources, step if kind in ("check", "hint") else 0)
        if kind == "hint":
            return checking.hint(step, stage, names), False
        if kind == "write":
            write(names, text, temperature, 300, send)
            return "", False
        if kind == "long":
            return read_longer(names), True
        verdicts = checking.check_step(step, names)
        return "\\n".join(checking.report(step, verdicts)[1:]), checking.is_done(step, verdicts)
    except NotImplementedError as error:
        return said(f"First finish {error}"), False
    except SyntaxError as error:
        return said(f"Python cannot read {error.filename}, line {error.lineno}: {error.msg}"), False
    except Exception as error:
        return said(f"Python stopped with {checking.error_text(error)}"), False

answer
`;
const FIRST_WITH_WEIGHTS = 9; // the step that reads the trained model

let tooling = null;
let weighing = null;

async function loadTools() {
  const [{ pyodide }, archive] = await Promise.all([
    load(),
    fetch(`${tools}tools.zip`).then((response) => response.arrayBuffer()),
  ]);
  pyodide.unpackArchive(archive, "zip", { extractDir: "/tools" });
  const spoken = JSON.stringify(language.replace("-", "_"));
  pyodide.runPython(`import os; os.environ["BOOK_LANGUAGE"] = ${spoken}`);
  return { pyodide, answer: pyodide.runPython(ANSWER) };
}

async function loadWeights(pyodide) {
  const data = await fetch(`${tools}model.safetensors`).then((response) => response.arrayBuffer());
  pyodide.FS.mkdirTree("/tools/bookkit/trained");
  pyodide.FS.writeFile("/tools/bookkit/trained/model.safetensors", new Uint8Array(data));
}

self.onmessage = async ({ data: { kind, step, sources, text, temperature, stage } }) => {
  try {
    tooling ??= loadTools();
    const { pyodide, answer } = await tooling;
    if (step >= FIRST_WITH_WEIGHTS) await (weighing ??= loadWeights(pyodide));
    postMessage({ ready: true });
    if (kind === "prepare") return;
    const send = (token) => postMessage({ token });
    const asked = [kind, step, pyodide.toPy(sources), text, temperature, stage, send];
    const [said, finished, printing] = answer(...asked).toJs();
    postMessage({ done: true, kind, said, finished, printing });
  } catch (error) {
    postMessage({ broken: String(error) });
  }
};
