/** Programs under strace, which shows or breaks their system calls. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { onTestFinished } from "vitest";

/** Whether strace is here and may be used. */
export const hasStrace = spawnSync("strace", ["-qq", "-o", "/dev/null", "true"]).status === 0;

/** Builds a program, with the sources it uses, into one file that starts fast. Gives its path. */
export async function buildProgram(source: URL, folder: string): Promise<string> {
  await build({
    configFile: false,
    logLevel: "silent",
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(source),
      outDir: folder,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "program.mjs" } },
    },
  });
  return `${folder}/program.mjs`;
}

/** Runs a Node program under strace to its end. Gives what it wrote, and whether it ended by itself and well. */
export async function runUnderStrace(
  options: readonly string[],
  program: readonly string[],
): Promise<{ stdout: string; stderr: string; isDone: boolean }> {
  // One thread for files, and no ring: the calls then come one after the other.
  const env = { PATH: process.env["PATH"] ?? "", UV_THREADPOOL_SIZE: "1", UV_USE_IO_URING: "0" };
  const args = ["-f", "-qq", ...options, process.execPath, ...program];
  const child = spawn("strace", args, { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { ...output, isDone: code === 0 };
}
