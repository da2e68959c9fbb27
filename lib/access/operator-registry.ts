import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { OperatorDocument } from "./documents.ts";
import type { Operator } from "./schemas.ts";

/** Operators as they are kept. */
export class OperatorRegistry {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Finds an operator by id; null where there is none. */
  async find(operatorId: string): Promise<Operator | null> {
    return (await this.#context.storage.get<OperatorDocument>("operators", operatorId))?.value ?? null;
  }

  /** The write that says an operator was here just now. */
  async touch(operatorId: string): Promise<Write> {
    const { value, revision } = await this.read(operatorId);
    return {
      kind: "put",
      collection: "operators",
      key: operatorId,
      value: { ...value, last_seen_at: this.#context.timestamp() },
      expected: revision,
    };
  }

  /** Reads an operator; `NOT_FOUND` where there is none. */
  async read(operatorId: string): Promise<StoredDocument<OperatorDocument>> {
    const stored = await this.#context.storage.get<OperatorDocument>("operators", operatorId);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no operator ${operatorId}.` });
    return stored;
  }
}
