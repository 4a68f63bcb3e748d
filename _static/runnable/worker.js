// Python in a worker, so that the page stays usable and a run can be stopped. page.js gives `python`,
// the address of Pyodide and NumPy, and loads private.js first. Each request runs some listings, one
// after the other.
const RUN = `
import contextlib, io, linecache, traceback
from pyodide.code import eval_code

def run(sources):
    """Run listings in new global names: the last one's number and output, and whether it failed."""
    names = {"__name__": "__main__"}
    for number, source in enumerate(sources, 1):
        file = f"listing {number}"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        written = io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
            try:
                value = eval_code(source, names, filename=file)
                if value is not None:
                    print(repr(value))
            except BaseException as error:
                trace = error.__traceback__
                while trace and trace.tb_frame.f_code.co_filename != file:
                    trace = trace.tb_next
                traceback.print_exception(type(error), error, trace)
                return number, written.getvalue(), True
    return number, written.getvalue(), False

run
`;
const LONGEST = 20_000; // letters of an output

// Pyodide loads its files by `fetch`; this one tells the page how much has arrived.
const plainFetch = self.fetch;
let bytes = 0;
self.fetch = async (address, options) => {
  const response = await plainFetch(address, options);
  if (!response.ok) throw new Error(`${response.status} for ${address}`);
  const counter = new TransformStream({
    transform(chunk, next) {
      bytes += chunk.length;
      postMessage({ bytes });
      next.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counter), response);
};

async function load() {
  importScripts(`${python}pyodide.js`);
  // NumPy arrives while Python starts.
  const [pyodide, numpy] = await Promise.all([
    loadPyodide({ indexURL: python }),
    fetch(`${python}numpy.tar.gz`).then((response) => response.arrayBuffer()),
  ]);
  addBacktrace(pyodide);
  pyodide.unpackArchive(numpy, "gztar", { extractDir: "/numpy" });
  pyodide.runPython('import sys; sys.path.append("/numpy/lib/python3.11/site-packages"); import numpy');
  return { pyodide, run: pyodide.runPython(RUN) };
}

let loading = null;
self.onmessage = async ({ data: sources }) => {
  try {
    loading ??= load();
    const { pyodide, run } = await loading;
    postMessage({ running: true });
    const [number, output, failed] = run(pyodide.toPy(sources)).toJs();
    postMessage({ done: true, number, failed, output: output.slice(0, LONGEST) });
  } catch (error) {
    postMessage({ broken: String(error) });
  }
};
