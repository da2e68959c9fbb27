/** Taking the oldest part of the audit log out of it: into a file, for good, or one after the other. */
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { AuditExport, checkAuditExport, OrchestratorError } from "fleetwright";
import type { AuditEvent, AuditExportCheck, AuditRetention, Page, PruneResult } from "fleetwright";
import { codeOf } from "../../client/system-error.ts";
import { makeSure, type SureOptions } from "../ask.ts";
import type { CommandCall } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { endLines, toLine, toLines } from "../text.ts";
import { makeFile } from "./new-file.ts";

const dayMs = 86_400_000;

/** Options of `fleetwright audit prune`. */
export interface PruneOptions extends SureOptions {
  before: string;
  export?: string;
}

/** What would go, as the server tells it. */
type OldestEvents = NonNullable<PruneResult["would_delete"]>;

/** Removes old events, once somebody has agreed to how many; with a file, only when they are in it and on disk. */
export async function prune(
  call: CommandCall,
  { before, export: file, ...sure }: PruneOptions,
): Promise<void> {
  const oldest = await look(call, before);
  if (oldest.events === 0)
    return call.show({ deleted: 0 }, () => toLines([`There is no event before ${toLine(before)}.`]));
  await makeSure(call, sure, removalOf(oldest));
  const path = file === undefined ? null : resolve(file);
  if (path !== null) await makeFile(path, (append) => write(call, oldest, append));
  // As many as were looked at, agreed to and written: whoever else prunes meanwhile has this refused.
  const { deleted } = await call.client.audit.prune({ before, expected: oldest.events });
  call.show({ deleted, ...(path !== null && { path, head_hash: oldest.through_hash }) }, () =>
    toLines([
      `${countOf(deleted)} removed.`,
      ...(path === null ? [] : [`${path} has them, head ${oldest.through_hash}.`]),
    ]),
  );
}

/** Sets for how long events are kept, once somebody has agreed to what goes: the server removes it within the hour. */
export async function keepFor(
  call: CommandCall,
  { days, ...sure }: { days: number } & SureOptions,
): Promise<AuditRetention> {
  const { audit } = call.client;
  const before = await audit.getRetention();
  const isShorter = before.retention_days === null || days < before.retention_days;
  if (!isShorter || sure.yes === true) return audit.setRetention({ retention_days: days });
  // The clock of the server counts, which is past its newest event.
  const { recorded_at } = await audit.head();
  const nowMs = Math.max(Date.now(), recorded_at === null ? 0 : Date.parse(recorded_at));
  const oldest = await look(call, new Date(nowMs - days * dayMs).toISOString());
  if (oldest.events > 0) await makeSure(call, sure, removalOf(oldest));
  // What was asked about is a change from that one: whoever else sets another meanwhile has this refused.
  return audit.setRetention({ retention_days: days }, { ifVersion: before.version });
}

/** Options of `fleetwright audit export`. */
export interface ExportOptions {
  before?: string;
  file?: string;
  after?: string;
}

/** Writes events into a new file, or to standard output; where an earlier export is given, those behind it. */
export async function exportOldest(call: CommandCall, { before, file, after }: ExportOptions): Promise<void> {
  if (file === undefined && (call.format === "yaml" || call.format === "name"))
    throw new UsageError(
      "An export is lines of JSON, which can be verified: leave --output out, or give --file.",
    );
  const all = await (before === undefined ? lookAtAll(call) : lookUpTo(call, before));
  const oldest = after === undefined ? all : goOn(all, await endOf(after));
  if (file === undefined) {
    await write(call, oldest, (text) => Promise.resolve(call.context.stdout(text)));
    return;
  }
  const path = resolve(file);
  await makeFile(path, (append) => write(call, oldest, append));
  call.show({ path, events: oldest.events, head_hash: oldest.through_hash }, () =>
    toLines([`${path} has ${countOf(oldest.events)}, head ${oldest.through_hash}.`]),
  );
}

/** All events there are: no time says so, since a clock may have been ahead when the newest was written. */
async function lookAtAll(call: CommandCall): Promise<OldestEvents> {
  const front = await look(call, "1970-01-01T00:00:00.000Z");
  const { sequence, hash, recorded_at } = await call.client.audit.head();
  const all = { through_sequence: sequence, through_hash: hash, through_recorded_at: recorded_at };
  return { ...front, ...all, events: sequence - front.from_sequence + 1 };
}

/**
 * The oldest events, up to the first that happened at a time or later: at least those that were written before it. What would be removed
 * is not asked: of what must be kept that is refused.
 */
async function lookUpTo(call: CommandCall, before: string): Promise<OldestEvents> {
  const all = await lookAtAll(call);
  const { audit } = call.client;
  const { items: behind } = await audit.list({ order: "asc", from: before, limit: 1 });
  const end = behind[0]?.sequence;
  if (end === undefined || end > all.through_sequence) return all;
  const from_sequence = Math.max(end - 1, 1);
  const { items: last } = await audit.list({ order: "asc", from_sequence, limit: 1 });
  const event = last[0]?.sequence === end - 1 ? last[0] : null;
  return {
    ...all,
    events: event === null ? 0 : event.sequence - all.from_sequence + 1,
    through_sequence: event?.sequence ?? all.from_sequence - 1,
    through_hash: event?.hash ?? all.previous_hash,
    through_recorded_at: event?.recorded_at ?? null,
  };
}

/** Checks exported files, which must follow each other. */
export async function verifyFiles(call: CommandCall, files: readonly string[]): Promise<ExitCode> {
  const place = { file: "", line: 0 };
  const check = await checkAuditExport(readLines(files, place));
  const { first_bad_line: _, ...result } = check;
  const where = check.valid ? {} : { first_bad_file: place.file, first_bad_line: place.line };
  call.show({ ...result, ...where }, () => toLines([describeCheck(check, place)]));
  return check.valid ? exitCode.ok : exitCode.failure;
}

/** Where exported files end that are whole. */
async function endOf(file: string): Promise<{ sequence: number; hash: string }> {
  const place = { file: "", line: 0 };
  const { valid, to_sequence, head_hash } = await checkAuditExport(readLines([file], place));
  if (!valid)
    throw new UsageError(`Line ${place.line} of ${file} is no event, or does not follow the one before.`);
  if (to_sequence === null || head_hash === null) throw new UsageError(`${file} has no events.`);
  return { sequence: to_sequence, hash: head_hash };
}

/** What there is behind an event. */
function goOn(oldest: OldestEvents, { sequence, hash }: { sequence: number; hash: string }): OldestEvents {
  if (sequence + 1 < oldest.from_sequence)
    throw new UsageError(
      `Events ${sequence + 1} to ${oldest.from_sequence - 1}, which would come next, were removed from the log.`,
    );
  const events = Math.max(0, oldest.through_sequence - sequence);
  const end = events === 0 ? { through_sequence: sequence, through_hash: hash } : {};
  return { ...oldest, events, from_sequence: sequence + 1, previous_hash: hash, ...end };
}

async function look(call: CommandCall, before: string): Promise<OldestEvents> {
  const { would_delete: oldest } = await call.client.audit.prune({ before, dry_run: true });
  // A server that does not know the question refuses it.
  if (!oldest)
    throw new OrchestratorError("PEER_ERROR", { message: "The server did not say what would go." });
  return oldest;
}

const removalOf = (oldest: OldestEvents): string =>
  `Remove ${countOf(oldest.events)} up to ${oldest.through_recorded_at}`;

/** Reads the events and hands them on as lines. Each is checked, and that they are all there. */
async function write(
  { client }: CommandCall,
  oldest: OldestEvents,
  put: (text: string) => Promise<unknown>,
): Promise<void> {
  const { from_sequence, through_sequence, through_hash, previous_hash } = oldest;
  const lines = new AuditExport({ sequence: from_sequence - 1, hash: previous_hash });
  let cursor: string | null = null;
  while (lines.head.sequence < through_sequence) {
    const after = cursor !== null && { cursor };
    const page: Page<AuditEvent> = await client.audit.list({
      order: "asc",
      limit: 500,
      from_sequence,
      ...after,
    });
    const items = page.items.filter(({ sequence }) => sequence <= through_sequence);
    if (items.length > 0) await put(endLines(items.map((event) => lines.add(event))));
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  const { sequence, hash } = lines.head;
  if (sequence !== through_sequence || hash !== through_hash)
    throw new OrchestratorError("STORAGE_CORRUPT", {
      message: `The audit log ended at event ${sequence} in place of ${through_sequence}.`,
    });
}

/** The lines of several files, one after the other; `place` says where the last one was. */
async function* readLines(
  files: readonly string[],
  place: { file: string; line: number },
): AsyncGenerator<string> {
  for (const file of files) {
    const handle = await open(file, "r").catch((error: unknown) => {
      throw new UsageError(`${file} can't be read (${codeOf(error)}).`);
    });
    try {
      Object.assign(place, { file, line: 0 });
      for await (const line of splitLines(
        createReadStream(file, { fd: handle, autoClose: false, encoding: "utf8" }),
      )) {
        place.line += 1;
        yield line;
      }
    } finally {
      await handle.close();
    }
  }
}

/** By line feeds only: node:readline also ends lines at characters that JSON leaves as they are. */
async function* splitLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function describeCheck(check: AuditExportCheck, { file, line }: { file: string; line: number }): string {
  const { valid, events, from_sequence, to_sequence, head_hash } = check;
  const range = events === 0 ? "no events" : `events ${from_sequence} to ${to_sequence}, head ${head_hash}`;
  return valid
    ? `The export is whole: ${range}.`
    : toLine(`The export was changed: line ${line} of ${file} is the first that does not fit (${range}).`);
}

function countOf(events: number): string {
  return events === 1 ? "1 event" : `${events.toLocaleString("en-US")} events`;
}
