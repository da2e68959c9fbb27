/** What the agent applied to its machine and what stood there before: what a removal needs to know. */
import { join } from "node:path";
import { z } from "zod";
import type { AppliedResource } from "../state/run/state-item.ts";
import { OrchestratorError } from "../errors.ts";
import { jsonSchema } from "../internal/common-schemas.ts";
import { resolvedResourceSchema } from "../state/resource.ts";
import { readText, renewFile, replaceFile } from "./durable-file.ts";
import { seal, unseal } from "./sealed-text.ts";

/** An applied resource as it is kept on disk. */
export const appliedResourceSchema: z.ZodType<AppliedResource> = z.strictObject({
  resource: resolvedResourceSchema,
  prior: z.strictObject({ type: z.string(), spec: z.record(z.string(), jsonSchema) }).nullable(),
  changed: z.literal(true).optional(),
});

const fileSchema = z.strictObject({ version: z.literal(1), resources: z.array(appliedResourceSchema) });

/** What is applied, on disk after every change. */
export class AppliedSet {
  readonly #path: string;
  #resources: readonly AppliedResource[];
  #isSaved = true;

  /**
   * @throws {OrchestratorError} `STORAGE_CORRUPT` for a damaged file: to begin anew would be to forget what must be taken
   * back one day.
   */
  constructor(stateDir: string) {
    this.#path = join(stateDir, "applied.json");
    const { resources, isSealed } = readResources(this.#path);
    this.#resources = resources;
    if (!isSealed) renewFile(this.#path, toText(resources));
  }

  /** What is applied, in the order in which it was. */
  get resources(): readonly AppliedResource[] {
    return this.#resources;
  }

  /**
   * Notes what is applied now. Durable when it returns; where it throws it holds in memory only, until {@link save}.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`.
   */
  replace(resources: readonly AppliedResource[]): void {
    this.#resources = resources;
    this.#isSaved = false;
    this.save();
  }

  /** Writes what could not be written before, if there is such. */
  save(): void {
    if (this.#isSaved) return;
    replaceFile(this.#path, toText(this.#resources));
    this.#isSaved = true;
  }
}

function toText(resources: readonly AppliedResource[]): string {
  const file: z.infer<typeof fileSchema> = { version: 1, resources: [...resources] };
  return `${seal(file)}\n`;
}

function readResources(path: string): { resources: AppliedResource[]; isSealed: boolean } {
  const text = readText(path);
  if (text === null) return { resources: [], isSealed: true };
  const unsealed = unseal(text);
  const parsed = fileSchema.safeParse(unsealed?.value);
  if (unsealed && parsed.success) return { resources: parsed.data.resources, isSealed: unsealed.isSealed };
  // Nothing of what the parser says: it would quote the file, which holds what may be secret.
  throw new OrchestratorError("STORAGE_CORRUPT", {
    message: `The list of what was applied in ${path} is damaged. Put a copy of the file in its place, or move it away: what was applied so far is then not taken back when it is not desired any more.`,
    details: { file: path },
  });
}
