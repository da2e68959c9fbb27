/** This machine with mounts, network and account files of its own, where real programs may change what they like. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";

/** What is done on the machine: a run of the engine, a program that looks, or a file written from outside. */
export type Step =
  | { mode: "plan" | "apply" | "check"; definitions: JsonObject[] }
  | { command: [string, ...string[]] }
  | { write: string; content: string };

/** What a step gave. */
export interface Given {
  run?: ResourceResult[];
  command?: { exitCode: number | null; stdout: string; stderr: string };
}

const program = fileURLToPath(new URL("namespaced-process.ts", import.meta.url));

/** Skips the test, and says why, where this machine may not be changed. */
export function requireRealMachine(context: TestContext): void {
  if (process.env["FLEETWRIGHT_REAL_MACHINE"] !== "1")
    context.skip("Set FLEETWRIGHT_REAL_MACHINE=1 to run it.");
  if (process.platform !== "linux" || process.getuid?.() !== 0) context.skip("It needs Linux and root.");
}

/** Takes the steps one after another on one machine, and gives what each gave. */
export async function onNamespacedMachine(steps: readonly Step[]): Promise<Given[]> {
  const argv = ["--mount", "--net", process.execPath, "--import", "tsx", program];
  const child = spawn("unshare", argv, { stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
  child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
  child.stdin.end(JSON.stringify(steps));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`The machine ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Given[];
}

/** What a program of a step wrote, without the last line break. */
export function said({ command }: Given | undefined = {}): string | undefined {
  return command && (command.exitCode === 0 ? command.stdout.trimEnd() : `exit ${command.exitCode}`);
}

/** The outcomes of a run of a step; for a failure, with its message. */
export function ended({ run }: Given | undefined = {}): string[] | undefined {
  return run?.map(({ outcome, message }) => (outcome === "failed" ? `failed: ${message}` : outcome));
}
