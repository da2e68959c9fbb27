/** Makes a file, and never comes to its end: `making-process.ts <path>`. Says so when it has begun. */
import { makeFile } from "../../adapters/cli/work/new-file.ts";

await makeFile(process.argv[2] ?? "", async (append) => {
  await append("the private key");
  console.log("begun");
  setInterval(() => {}, 1_000);
  await new Promise(() => {});
});
