/**
 * Results and output of operations, in a log beside the documents: a thousand agents that finish together cost one
 * durable write. They are written before the document that names them; what a crash leaves without a document is never read. A report
 * of many mebibytes is more than one write, and whoever waits is served in between.
 */
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { toJsonObject } from "../json.ts";
import type { ResourceResult } from "../state/result.ts";
import type { LogPage, Write } from "../storage/storage.ts";
import type { OperationOutput } from "../wire/messages.ts";
import { resultsLog, type OperationDocument } from "./documents.ts";

/** Largest part of one entry, characters of JSON; well below what a storage keeps whole. */
const partSize = 256_000;
/** Parts that are written, or read, at once. */
const partsAtOnce = 2;

type Content = { results: ResourceResult[] } | { output: OperationOutput[] };
type Part = { operation_id: string } & Content;

/** What an agent tells of an operation beyond how it ended. */
export interface OperationReport {
  results: readonly ResourceResult[];
  output: readonly OperationOutput[];
}

/** Writes a report and returns where it is; undefined where there is nothing to write. */
export async function saveReport(
  context: Context,
  operationId: string,
  { results, output }: OperationReport,
): Promise<{ from: number; to: number } | undefined> {
  const at = context.clock.now();
  let place: { from: number; to: number } | undefined;
  let writes: Write[] = [];
  const write = async (): Promise<void> => {
    const { sequences } = await context.storage.commit(writes);
    place = { from: place?.from ?? sequences[0]!, to: sequences.at(-1)! };
    writes = [];
  };
  for (const part of inParts({ results, output })) {
    // What follows is looked at in another turn than what was written.
    if (place) await nextTurn();
    const value = toJsonObject<Part>({ operation_id: operationId, ...part });
    writes.push({ kind: "append", log: resultsLog, at, value });
    if (writes.length === partsAtOnce) await write();
  }
  if (writes.length > 0) await write();
  return place;
}

/** Reads the report of an operation. */
export async function loadReport(
  context: Context,
  { operation_id, results: place }: Readonly<OperationDocument>,
): Promise<{ results: ResourceResult[]; output: OperationOutput[] }> {
  const report: { results: ResourceResult[]; output: OperationOutput[] } = { results: [], output: [] };
  let from: number | null = place?.from ?? null;
  while (from !== null && place) {
    const page: LogPage<Part> = await context.storage.readLog<Part>(resultsLog, {
      from,
      to: place.to,
      limit: partsAtOnce,
    });
    for (const { value } of page.entries) {
      if (value.operation_id !== operation_id) continue;
      if ("results" in value) report.results.push(...value.results);
      else report.output.push(...value.output);
    }
    from = page.next;
  }
  return report;
}

/** The results of an operation one by one, read as far as they are asked for. */
export async function* eachResult(
  context: Context,
  { operation_id, results: place }: Readonly<OperationDocument>,
): AsyncGenerator<ResourceResult, void> {
  let from: number | null = place?.from ?? null;
  while (from !== null && place) {
    const { entries, next }: LogPage<Part> = await context.storage.readLog<Part>(resultsLog, {
      from,
      to: place.to,
      limit: 1,
    });
    for (const { value } of entries) {
      if (value.operation_id !== operation_id) continue;
      // Output comes after all results.
      if (!("results" in value)) return;
      yield* value.results;
    }
    from = next;
  }
}

/** Divides a report; each part is made when it is asked for. */
function* inParts({ results, output }: OperationReport): Generator<Content> {
  for (const part of divided(results)) yield { results: part };
  for (const part of divided(output)) yield { output: part };
}

function* divided<Item>(items: readonly Item[]): Generator<Item[]> {
  let part: Item[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = JSON.stringify(item).length;
    if (part.length > 0 && size + itemSize > partSize) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(item);
    size += itemSize;
  }
  if (part.length > 0) yield part;
}
