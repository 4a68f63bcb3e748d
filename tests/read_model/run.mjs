// Runs functions of the script that reads a configuration, without a browser.
// Arguments: the script and the file of its rules. Input: JSON [{call, arguments}]; a call that
// refuses answers {refused: {reason, text}}.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [script, rules] = process.argv.slice(2);
const reader = await import(pathToFileURL(script));
reader.useRules(JSON.parse(readFileSync(rules, "utf8")));

function answer({ call, arguments: given }) {
  try {
    return reader[call](...given);
  } catch (error) {
    if (error.reason === undefined) throw error;
    return { refused: { reason: error.reason, text: error.message } };
  }
}

const requests = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(requests.map(answer)));
