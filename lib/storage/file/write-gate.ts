import type { OrchestratorError } from "../../errors.ts";
import { diskFailure, storageError } from "./errors.ts";

/** What a failed write ends, and what ends writes. */
export interface WriteGate {
  /** Why nothing is written any more; null while it is. */
  readonly failure: OrchestratorError | null;
  fail(reason: OrchestratorError): void;
}

/** Does work that writes; not after an error of the disk, and nothing is written after one of its own. */
export async function throughGate<T>(gate: WriteGate, work: () => Promise<T>): Promise<T> {
  if (gate.failure !== null) throw gate.failure;
  try {
    return await work();
  } catch (error) {
    const failure = diskFailure(error);
    if (failure === null) throw storageError(error);
    gate.fail(failure);
    throw failure;
  }
}
