/**
 * The epoch of an orchestrator: which life of its data it leads. A restore of a backup begins a new one, so that of two servers with
 * one key agents can tell the newer.
 */
import { z } from "zod";

/** The last millisecond that a date can name, and the largest number of an epoch. */
const largestNumber = 8_640_000_000_000_000;

export const epochSchema = z.strictObject({
  number: z.number().int().min(1).max(largestNumber),
  id: z.uuid(),
});

/**
 * Which life of its data an orchestrator leads: the number rises with each restore, the id tells two of one number apart.
 *
 * @useDeclaredType
 */
export type Epoch = z.infer<typeof epochSchema>;

/** Above 0 where `a` is the newer one, 0 where they are one. Every agent orders two epochs in the same way. */
export function compareEpochs(a: Epoch, b: Epoch): number {
  if (a.number !== b.number) return a.number - b.number;
  if (a.id === b.id) return 0;
  return a.id > b.id ? 1 : -1;
}

/** The number of an epoch that begins now, after another one (0 = after none). */
export function nextNumber(nowMs: number, after: number): number {
  return Math.min(largestNumber, Math.max(after + 1, Math.floor(nowMs), 1));
}
