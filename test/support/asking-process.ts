/**
 * A program that asks for so many secrets at its terminal, and writes into the file that it is given what was answered and how the terminal
 * was set: before the first question, and after each answer.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { processContext } from "../../adapters/cli/process-context.ts";

const [, , path = "", count = "1"] = process.argv;
const settings = (): string =>
  execFileSync("stty", ["-g"], { encoding: "utf8", stdio: ["inherit", "pipe", "inherit"] });

const answers: unknown[] = [];
const set = [settings()];
while (answers.length < Number(count)) {
  answers.push(await processContext.askSecret?.("Passphrase: "));
  set.push(settings());
}
writeFileSync(path, JSON.stringify({ answers, set }));
