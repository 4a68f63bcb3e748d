// The playground in the worker: the model of bookkit.workshop.playground answers in parts, and between two
// of them the worker hears whether the page still wants the rest. playground.js gives `python` and `tools`,
// the addresses of Pyodide and of the workshop's files, and loads private.js and worker.js first.
const START = `
import sys
sys.path.append("/tools")
from bookkit.workshop.playground import Playground

def begin(data):
    """A function that begins an answer, and one that returns its next part, or nothing at its end."""
    model = Playground(data)
    def answer(kind, prompt, switches, count, seed):
        if kind == "look":
            return model.looks(prompt, switches)
        if kind == "write":
            return model.writes(prompt, switches, count, seed)
        return model.measures(switches)
    return answer, lambda parts: next(parts, None)

begin
`;

let wanted = 0; // the newest request of the page; everything older is given up
let last = Promise.resolve();
let preparing = null;

async function loadModel() {
  const [{ pyodide }, archive, data] = await Promise.all([
    load(),
    fetch(`${tools}tools.zip`).then((response) => response.arrayBuffer()),
    fetch(`${tools}model.safetensors`).then((response) => response.arrayBuffer()),
  ]);
  pyodide.unpackArchive(archive, "zip", { extractDir: "/tools" });
  const [answer, next] = pyodide.runPython(START)(pyodide.toPy(new Uint8Array(data)).tobytes());
  return { pyodide, answer, next };
}

// Timers wait for milliseconds, a channel does not.
const channel = new MessageChannel();
const letMessagesIn = () =>
  new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });

async function perform(number, { kind, prompt, switches, count, seed }) {
  const { pyodide, answer, next } = await preparing;
  await letMessagesIn();
  if (number !== wanted) return;
  const parts = answer(kind, prompt, pyodide.toPy(switches), count, seed);
  for (let part = next(parts); part !== undefined && number === wanted; part = next(parts)) {
    postMessage({ number, event: part.toJs({ dict_converter: Object.fromEntries }) });
    part.destroy();
    await letMessagesIn();
  }
  parts.destroy();
  if (number === wanted) postMessage({ number, finished: kind });
}

self.onmessage = async ({ data: { number, jobs } }) => {
  wanted = number;
  try {
    preparing ??= loadModel();
    await preparing;
    postMessage({ ready: true });
  } catch (error) {
    postMessage({ broken: String(error) });
    return;
  }
  for (const job of jobs) {
    last = last
      .then(() => perform(number, job))
      .catch((error) => postMessage({ number, failed: String(error).trim().split("\n").at(-1) }));
  }
  last = last.then(() => postMessage({ number, idle: true }));
};
