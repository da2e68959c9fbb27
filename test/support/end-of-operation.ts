import type { OperationService } from "../../lib/operations/operation-service.ts";
import type { Operation } from "../../lib/operations/schemas.ts";

/** Waits until an operation has ended, or for a time, and returns it as it is then; `NOT_FOUND` where there is none. */
export async function endOf(
  operations: OperationService,
  operationId: string,
  waitSeconds: number,
): Promise<Operation> {
  return operations.wait(await operations.store.read(operationId), waitSeconds);
}
