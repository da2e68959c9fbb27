/** What the agent applied to its machine and what stood there before: what a removal needs to know. */
import { join } from "node:path";
import { z } from "zod";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { AppliedResource } from "../state/state-item.ts";
import { OrchestratorError } from "../errors.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import { resolvedResourceSchema } from "../state/resource.ts";
import { readText, replaceFile } from "./durable-file.ts";

/** An applied resource as it is kept on disk. */
export const appliedResourceSchema: z.ZodType<AppliedResource> = z.strictObject({
  resource: resolvedResourceSchema,
  prior: z.strictObject({ type: z.string(), spec: z.record(z.string(), z.json()) }).nullable(),
});

const fileSchema = z.strictObject({ version: z.literal(1), resources: z.array(appliedResourceSchema) });

/** What is applied, on disk after every change. */
export class AppliedSet {
  readonly #path: string;
  readonly #types: ResourceTypes;
  #resources: readonly AppliedResource[];
  #isSaved = true;

  /**
   * @throws {OrchestratorError} `STORAGE_CORRUPT` for a damaged file: to begin anew would be to forget what must be taken
   * back one day.
   */
  constructor(stateDir: string, types: ResourceTypes) {
    this.#path = join(stateDir, "applied.json");
    this.#types = types;
    this.#resources = readResources(this.#path);
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
    const file: z.infer<typeof fileSchema> = { version: 1, resources: [...this.#resources] };
    replaceFile(this.#path, `${JSON.stringify(file)}\n`);
    this.#isSaved = true;
  }

  /**
   * Notes what an operation that was cut off may have changed. What is known already keeps what stood before it: that is
   * older. What the operation did not get to change is in sync with what stood before it and harms nobody here.
   */
  adopt(captured: readonly AppliedResource[]): void {
    const byIdentity = new Map(this.#resources.map((entry) => [this.#identityOf(entry), entry]));
    for (const entry of captured) {
      const identity = this.#identityOf(entry);
      const known = byIdentity.get(identity);
      if (!known || known.prior === null) byIdentity.set(identity, entry);
    }
    this.replace([...byIdentity.values()]);
  }

  #identityOf(entry: AppliedResource): string {
    return resourceIdentityKey(entry.resource, this.#types);
  }
}

function readResources(path: string): AppliedResource[] {
  const text = readText(path);
  if (text === null) return [];
  try {
    return fileSchema.parse(JSON.parse(text)).resources;
  } catch {
    // The error would quote the file, which holds what may be secret.
    throw new OrchestratorError("STORAGE_CORRUPT", {
      message: `The list of what was applied in ${path} is damaged.`,
    });
  }
}
