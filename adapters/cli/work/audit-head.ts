/** Where the audit log ends, kept in a file elsewhere and compared with the log later. */
import { resolve } from "node:path";
import { readAuditHead } from "fleetwright";
import type { AuditHead, AuditVerification } from "fleetwright";
import type { CommandCall } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { readKey } from "../orchestrator-keys.ts";
import { readText } from "../read-text.ts";
import { toLine, toLines } from "../text.ts";
import { originOfServer } from "./backup-origin.ts";
import { makeFile } from "./new-file.ts";

/** Options of `fleetwright audit verify`. */
export interface VerifyOptions {
  head?: string;
  orchestratorKey?: string;
}

/** Writes the head, signed, as a line of JSON: to standard output, or into a new file. */
export async function keepHead(call: CommandCall, { file }: { file?: string }): Promise<void> {
  if (file === undefined) refuseNames(call);
  const head = await call.client.audit.head();
  const line = toLines([JSON.stringify(head)]);
  if (file === undefined) return call.show(head, () => line);
  const path = resolve(file);
  await makeFile(path, (append) => append(line));
  call.show({ path, ...head }, () =>
    toLines([`${path} has the head: event ${head.sequence}, ${head.hash}.`]),
  );
}

/** Only a file that it is written into has a name. */
function refuseNames({ format }: CommandCall): void {
  if (format === "name")
    throw new UsageError("A head has no name that other commands take: use another --output, or --file.");
}

/** Recomputes the chain, and looks for a head in it that was kept in a file. */
export async function verifyLog(call: CommandCall, options: VerifyOptions): Promise<ExitCode> {
  const known = await readHead(call, options);
  const result = await call.client.audit.verify(
    known ? { known_sequence: known.sequence, known_hash: known.hash } : {},
  );
  call.show(result, () =>
    toLines([describe(result), ...(known && result.known_head ? [describeKnown(known, result)] : [])]),
  );
  const isKnown = known === null || result.known_head === "present";
  return result.valid && isKnown ? exitCode.ok : exitCode.failure;
}

async function readHead(
  call: CommandCall,
  { head, orchestratorKey }: VerifyOptions,
): Promise<AuditHead | null> {
  if (head === undefined) return null;
  const key = readKey(orchestratorKey) ?? originOfServer(call)?.orchestratorKey;
  if (key === undefined)
    throw new UsageError(
      "The key of the orchestrator is not pinned here, and nothing else says whose the head must be: give --orchestrator-key.",
    );
  return readAuditHead(await readText(call.context, head), key);
}

function describe({ valid, from_sequence, to_sequence, ...result }: AuditVerification): string {
  const range = `events ${from_sequence} to ${to_sequence}`;
  return valid
    ? `The log is whole: ${range}, head ${result.head_hash}.`
    : `The log was changed: event ${result.first_bad_sequence} is the first that does not fit (${range}).`;
}

function describeKnown(
  { sequence, recorded_at }: AuditHead,
  { from_sequence, known_head }: AuditVerification,
): string {
  const event = toLine(`event ${sequence} of ${recorded_at ?? "an unknown time"}`);
  if (known_head === "present") return `The head is in it: ${event}.`;
  if (known_head === "pruned")
    return `The head can't be compared: ${event} was removed, the log begins with event ${from_sequence}.`;
  return known_head === "missing"
    ? `This is another log, or its end is missing: there is no ${event}.`
    : `This is another log: another one is in the place of ${event}.`;
}
