/** A program that asks for so many secrets at its terminal, and writes what was answered into the file that it is given. */
import { writeFileSync } from "node:fs";
import { processContext } from "../../adapters/cli/process-context.ts";

const [, , path = "", count = "1"] = process.argv;
const answers: unknown[] = [];
while (answers.length < Number(count)) answers.push(await processContext.askSecret?.("Passphrase: "));
writeFileSync(path, JSON.stringify(answers));
