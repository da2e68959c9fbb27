/**
 * Watching one operation:
 *
 * ```
 * operation ──▶ (operation | resources | output)* ──▶ what was not told yet ──▶ ended
 * ```
 * What an agent tells while it works may be lost; its result never is. So at the end a watcher gets each resource that it
 * was not told of, and the whole output of each stream of which it missed a part. So it is, too, where another process holds the agent
 * and can't be heard for a while.
 */
import { allows } from "../callers/authorizer.ts";
import type { Caller } from "../callers/caller.ts";
import { OrchestratorError } from "../errors.ts";
import type { Tracked } from "../internal/stream-window.ts";
import type { ResourceResult } from "../state/result.ts";
import type { OperationOutput } from "../wire/messages.ts";
import { isListed } from "./operation-kinds.ts";
import type { OperationParts } from "./operation-parts.ts";
import { loadReport } from "./operation-results.ts";
import { isOpen } from "./operation-store.ts";
import type { ProgressStep } from "./progress-feeds.ts";
import { openFeed, ProgressReader } from "./progress-pipe.ts";
import type { Operation, OperationWatchItem } from "./schemas.ts";

/** Tells how an operation goes on until it has ended, from its beginning. As {@link Operations.watch}. */
export async function* watchOperation(
  parts: OperationParts,
  request: { caller: Caller; operationId: string },
  signal?: AbortSignal,
): AsyncGenerator<Tracked<OperationWatchItem>, void> {
  const stream = parts.streams.open(request.caller, signal);
  try {
    yield* follow(parts, request, stream.signal);
  } finally {
    stream.close();
  }
}

async function* follow(
  parts: OperationParts,
  { caller, operationId }: { caller: Caller; operationId: string },
  signal: AbortSignal,
): AsyncGenerator<Tracked<OperationWatchItem>, void> {
  const { context, store, view } = parts;
  const told = new Told({ view, withOutput: allows(caller, "operations.output") });
  const progress = new ProgressReader(parts, operationId);
  let id = operationId;
  for (;;) {
    const { feed, operation } = await openFeed(parts, operationId);
    if (!operation || !isListed(operation)) throw notFound(operationId);
    let isFirst = true;
    for await (const step of progress.read(operation, feed, signal)) {
      ({ id } = step);
      const standing = isFirst ? told.stands(view(operation)) : null;
      isFirst = false;
      if (standing) yield { id, item: standing };
      const item = step.kind === "value" ? told.tell(step.value) : null;
      if (item) yield { id, item };
    }
    if (signal.aborted) return;
    const ended = await store.read(operationId);
    // The feed of an operation that goes on was given up for want of space, or its agent is with another process.
    if (isOpen(ended)) continue;
    for (const item of told.rest(await loadReport(context, ended))) yield { id, item };
    yield { id, item: { type: "ended", operation: view(ended) } };
    return;
  }
}

function notFound(operationId: string): OrchestratorError {
  return new OrchestratorError("NOT_FOUND", { message: `There is no operation ${operationId}.` });
}

/** Resources and streams of output that one watcher is told of while the operation runs: more than any operation has. */
const maxTold = 20_000;

/** What one watcher was told. */
class Told {
  readonly #view: OperationParts["view"];
  readonly #withOutput: boolean;
  readonly #resources = new Set<string>();
  readonly #lengths = new Map<string, number>();
  /** How the operation stood when that was told last, as JSON. */
  #standing = "";

  constructor({ view, withOutput }: { view: OperationParts["view"]; withOutput: boolean }) {
    this.#view = view;
    this.#withOutput = withOutput;
  }

  /** How the operation stands, where that was not told already. */
  stands(operation: Operation): OperationWatchItem | null {
    const standing = JSON.stringify(operation);
    if (standing === this.#standing) return null;
    this.#standing = standing;
    return { type: "operation", operation };
  }

  tell(step: ProgressStep): OperationWatchItem | null {
    if (step.type === "operation") return this.stands(this.#view(step.operation));
    if (this.#resources.size + this.#lengths.size > maxTold) return null;
    if (step.type === "resources") return this.#tellResources(step.resources);
    if (!this.#withOutput) return null;
    for (const part of step.output) {
      const key = streamKey(part);
      this.#lengths.set(key, (this.#lengths.get(key) ?? 0) + part.text.length);
    }
    return { type: "output", replaces: false, output: [...step.output] };
  }

  /** What a report has beyond what was told. */
  rest(report: { results: ResourceResult[]; output: OperationOutput[] }): OperationWatchItem[] {
    const missed = report.output.filter((part) => this.#lengths.get(streamKey(part)) !== part.text.length);
    const resources = this.#tellResources(report.results);
    return [
      ...(this.#withOutput && missed.length > 0
        ? [{ type: "output" as const, replaces: true, output: missed }]
        : []),
      ...(resources ? [resources] : []),
    ];
  }

  #tellResources(results: readonly ResourceResult[]): OperationWatchItem | null {
    const fresh = results.filter((result) => {
      const key = resourceOf(result);
      return !this.#resources.has(key) && this.#resources.add(key);
    });
    return fresh.length === 0 ? null : { type: "resources", resources: fresh };
  }
}

/** A removal is told beside a resource of the same name that is applied again under another identity. */
function resourceOf({ module, resource_id, identity, action }: ResourceResult): string {
  return JSON.stringify([module, resource_id, identity, action === "remove"]);
}

function streamKey({ module, resource_id, stream }: OperationOutput): string {
  return JSON.stringify([module, resource_id, stream]);
}
