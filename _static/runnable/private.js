// All that the site uses of Pyodide's private parts. Another version may lack them: then nothing is done.

// Before NumPy writes a result over a temporary array of 256 KiB or more, it calls `backtrace` of the C
// library to see who needs that array. Pyodide has no such function and would stop for good. This one knows
// no caller, and NumPy takes a new array.
function addBacktrace(pyodide) {
  const merge = pyodide._module?.mergeLibSymbols;
  if (typeof merge === "function") merge({ backtrace: () => 0 }, "backtrace");
}
