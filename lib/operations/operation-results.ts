/**
 * Results and output of operations, in a log beside the documents: a thousand agents that finish together cost one
 * durable write. They are written before the document that names them; what a crash leaves without a document is never read.
 */
import type { Context } from "../context.ts";
import { toJsonObject } from "../internal/json.ts";
import type { ResourceResult } from "../state/result.ts";
import type { LogPage, Write } from "../storage/storage.ts";
import type { OperationOutput } from "../wire/messages.ts";
import { resultsLog, type OperationDocument } from "./documents.ts";

/** Largest part of one entry, characters of JSON; well below what a storage keeps whole. */
const partSize = 256_000;

type Part =
  { operation_id: string; results: ResourceResult[] } | { operation_id: string; output: OperationOutput[] };

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
  const parts: Part[] = [
    ...inParts(results).map((part) => ({ operation_id: operationId, results: part })),
    ...inParts(output).map((part) => ({ operation_id: operationId, output: part })),
  ];
  if (parts.length === 0) return undefined;
  const at = context.clock.now();
  const writes = parts.map((value): Write => ({
    kind: "append",
    log: resultsLog,
    at,
    value: toJsonObject(value),
  }));
  const { sequences } = await context.storage.commit(writes);
  return { from: sequences[0]!, to: sequences.at(-1)! };
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
      limit: 100,
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

function inParts<Item>(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let size = partSize;
  for (const item of items) {
    const itemSize = JSON.stringify(item).length;
    if (size + itemSize > partSize) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)!.push(item);
    size += itemSize;
  }
  return parts;
}
