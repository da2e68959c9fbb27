import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
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
  find(operatorId: string): Promise<StoredDocument<OperatorDocument> | null> {
    return this.#context.storage.get<OperatorDocument>("operators", operatorId);
  }

  /** The write that says an operator was here just now, and the operator as it is then; null where there is none. */
  async touch(operatorId: string): Promise<{ operator: Operator; write: Write } | null> {
    const stored = await this.find(operatorId);
    if (!stored) return null;
    const { value, revision } = stored;
    const seen = { ...value, last_seen_at: this.#context.timestamp() };
    return {
      operator: toOperator({ value: seen, revision: revision + 1 }),
      write: {
        kind: "put",
        collection: "operators",
        key: operatorId,
        value: toJsonObject(seen),
        expected: revision,
      },
    };
  }

  /** Reads an operator; `NOT_FOUND` where there is none. */
  async read(operatorId: string): Promise<StoredDocument<OperatorDocument>> {
    const stored = await this.find(operatorId);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no operator ${operatorId}.` });
    return stored;
  }
}

/** An operator as everyone sees it. */
export function toOperator({
  value,
  revision,
}: Pick<StoredDocument<OperatorDocument>, "value" | "revision">): Operator {
  return { ...value, version: revision };
}
