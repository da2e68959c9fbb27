/** What the agent applied to its machine and what stood there before: what a removal needs to know. */
import { join } from "node:path";
import { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import { jsonSchema } from "../internal/common-schemas.ts";
import { type OwedTrigger, owedTriggerSchema } from "../state/owed.ts";
import { resolvedResourceSchema } from "../state/resource.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import { readText, renewFile, replaceFile } from "./durable-file.ts";
import { seal, unseal } from "./sealed-text.ts";

/** An applied resource as it is kept on disk. */
export const appliedResourceSchema: z.ZodType<AppliedResource> = z.strictObject({
  resource: resolvedResourceSchema,
  prior: z.strictObject({ type: z.string(), spec: z.record(z.string(), jsonSchema) }).nullable(),
  changed: z.literal(true).optional(),
  stuck: z.literal(true).optional(),
  others: z.array(resolvedResourceSchema).optional(),
});

const fileSchema = z.strictObject({
  version: z.literal(1),
  resources: z.array(appliedResourceSchema),
  /** Absent where nothing is owed. */
  owed: z.array(owedTriggerSchema).optional(),
});

/** What is applied, on disk after every change. */
export class AppliedSet {
  readonly #path: string;
  #resources: readonly AppliedResource[];
  #owed: readonly OwedTrigger[];
  #isSaved = true;

  /**
   * @throws {OrchestratorError} `STORAGE_CORRUPT` for a damaged file: to begin anew would be to forget what must be taken
   * back one day.
   */
  constructor(stateDir: string) {
    this.#path = join(stateDir, "applied.json");
    const { resources, owed, isSealed } = readApplied(this.#path);
    this.#resources = resources;
    this.#owed = owed;
    if (!isSealed) renewFile(this.#path, toText(resources, owed));
  }

  /** What is applied, in the order in which it was. */
  get resources(): readonly AppliedResource[] {
    return this.#resources;
  }

  /** Triggers that have not succeeded since what they follow changed. */
  get owed(): readonly OwedTrigger[] {
    return this.#owed;
  }

  /**
   * Notes what is applied now, and which triggers are owed (default: as before). Durable when it returns; where it throws it holds in memory only, until {@link save}.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`.
   */
  replace(resources: readonly AppliedResource[], owed: readonly OwedTrigger[] = this.#owed): void {
    this.#resources = resources;
    this.#owed = owed;
    this.#isSaved = false;
    this.save();
  }

  /** Writes what could not be written before, if there is such. */
  save(): void {
    if (this.#isSaved) return;
    replaceFile(this.#path, toText(this.#resources, this.#owed));
    this.#isSaved = true;
  }
}

function toText(resources: readonly AppliedResource[], owed: readonly OwedTrigger[]): string {
  const file: z.infer<typeof fileSchema> = {
    version: 1,
    resources: [...resources],
    ...(owed.length > 0 && { owed: [...owed] }),
  };
  return `${seal(file)}\n`;
}

function readApplied(path: string): {
  resources: AppliedResource[];
  owed: OwedTrigger[];
  isSealed: boolean;
} {
  const text = readText(path);
  if (text === null) return { resources: [], owed: [], isSealed: true };
  const unsealed = unseal(text);
  const parsed = fileSchema.safeParse(unsealed?.value);
  if (unsealed && parsed.success) {
    const { resources, owed = [] } = parsed.data;
    return { resources, owed, isSealed: unsealed.isSealed };
  }
  // Nothing of what the parser says: it would quote the file, which holds what may be secret.
  throw new OrchestratorError("STORAGE_CORRUPT", {
    message: `The list of what was applied in ${path} is damaged. Put a copy of the file in its place, or move it away: what was applied so far is then not taken back when it is not desired any more.`,
    details: { file: path },
  });
}
