/**
 * Takes secrets out of what agents tell of operations. Agents do so themselves: this is for one that does not, because it is of another
 * make or somebody else's by now.
 */
import { cleanError, cleanResult } from "../secret-format/clean-results.ts";
import type { Redactor, RedactionStream } from "../secret-format/redactor.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { AgentMessage, MessageOf, OperationOutput } from "../wire/messages.ts";
import type { OperationDocument } from "./documents.ts";
import type { Snapshots } from "./snapshots.ts";

/** What is told of an operation with secrets while it runs. */
interface Told {
  redactor: Redactor;
  streams: Map<string, RedactionStream>;
}

type Progress = MessageOf<AgentMessage, "progress" | "output">;
type Result = MessageOf<AgentMessage, "result">;

export class ToldSecrets {
  readonly #secrets: SecretService;
  readonly #snapshots: Snapshots;
  /** By operation; null until it is known what to take out. */
  readonly #told = new Map<string, Told | null>();

  constructor({ secrets, snapshots }: { secrets: SecretService; snapshots: Snapshots }) {
    this.#secrets = secrets;
    this.#snapshots = snapshots;
  }

  /** An agent has an operation, and may tell something from now on. Where it has secrets that waits for {@link begin}. */
  expect({ operation_id, has_secrets }: Readonly<OperationDocument>): void {
    if (has_secrets === true && !this.#told.has(operation_id)) this.#told.set(operation_id, null);
  }

  /** What is told of an operation is cleaned from now on. Where it was already that goes on: half a secret may have come. */
  async begin(operationId: string, resources: readonly ResolvedResource[]): Promise<void> {
    if (this.#told.get(operationId) !== null) return;
    const { redactor, isWhole } = await this.#secrets.redactor(resources);
    // It may have ended, or begun, meanwhile. Where it can't be cleaned nothing is told before its end.
    if (this.#told.get(operationId) !== null || !isWhole) return;
    if (redactor.isEmpty) this.#told.delete(operationId);
    else this.#told.set(operationId, { redactor, streams: new Map() });
  }

  /** An operation tells nothing more. */
  end(operationId: string): void {
    this.#told.delete(operationId);
  }

  /**
   * What an agent tells while it runs an operation; null where it can't be cleaned yet. What may be the beginning of a secret comes with
   * what follows.
   */
  progress(message: Progress): Progress | null {
    const told = this.#told.get(message.operation_id);
    if (!told) return told === null ? null : message;
    const { redactor } = told;
    if (message.type === "progress")
      return { ...message, results: message.results.map((each) => cleanResult(each, redactor)) };
    return { ...message, output: message.output.map((piece) => ({ ...piece, text: pieceOf(piece, told) })) };
  }

  /** How an agent tells that an operation ended. */
  async result(operation: Readonly<OperationDocument>, message: Result): Promise<Result> {
    if (operation.has_secrets !== true) return message;
    const resources = await this.#snapshots.loadIfWhole(operation.snapshot);
    const { redactor = null } = resources ? await this.#secrets.redactor(resources) : {};
    if (!redactor || redactor.isEmpty) return message;
    const { results, output, error } = message;
    return {
      ...message,
      results: results.map((each) => cleanResult(each, redactor)),
      output: output.map((each) => ({ ...each, text: redactor.redact(each.text) })),
      ...(error && { error: cleanError(error, redactor) }),
    };
  }
}

function pieceOf({ module, resource_id, stream, text }: OperationOutput, told: Told): string {
  const key = JSON.stringify([module, resource_id, stream]);
  const known = told.streams.get(key) ?? told.redactor.stream();
  told.streams.set(key, known);
  return known.push(text);
}
