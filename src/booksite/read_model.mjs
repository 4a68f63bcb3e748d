// Writes reports without a browser: of models of the table, and of configurations.
// Input: JSON {rules, reader, scripts, places, requests: [{name, wanted} or {config, wanted}]};
// output: [{name, said, html}], the last two empty where there is nothing to read.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const { rules, reader, scripts, places, requests } = JSON.parse(readFileSync(0, "utf8"));
globalThis.modelRules = JSON.parse(readFileSync(rules, "utf8"));
for (const script of scripts) runInThisContext(readFileSync(script, "utf8"), { filename: script });
const { readModel, readTableModel, useRules } = await import(reader);
useRules(globalThis.modelRules);

const link = (page, anchor) => ({ href: `${page}.html#${anchor}`, title: places[`${page}#${anchor}`] ?? page });
const written = requests.map(({ name, config, wanted, settings = false }) => {
  const result = config === undefined ? readTableModel(name, wanted) : readModel(config, wanted);
  const { report, summary } = globalThis.modelReport;
  const html = report(result, { link, named: false, settings });
  return { name: result.name ?? name, said: result.error ? "" : summary(result), html };
});
process.stdout.write(JSON.stringify(written));
