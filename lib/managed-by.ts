/**
 * Who manages something: a folder that is kept elsewhere and made so on the server. It is a note for whoever does that: the server lets
 * everybody change what a folder manages, as their role allows.
 */
import { isOrchestratorError, OrchestratorError } from "./errors.ts";
import type { ManagedBy } from "./internal/common-schemas.ts";
import type { CollectionDefinition, Write } from "./storage/storage.ts";

const collection = "managed_names";

/** That a folder has a thing under a name, under kind, label and name: so two calls at once make it once. */
interface ManagedNameDocument {
  id: string;
}

/** What is kept of who manages what. */
export const managedByCollections = {
  [collection]: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

/** Something that has no name of its own that only one may have. */
interface Managed {
  id: string;
  managed_by?: ManagedBy;
}

/**
 * The writes by which a thing has its name in its folder alone; {@link refuseTaken} says what it means where they are refused.
 *
 * @param kind - What it is, in the plural, e.g. `channels`.
 * @param before - Null for a new one.
 * @param after - Null for one that is removed.
 */
export function nameInFolder(
  kind: string,
  before: Readonly<Managed> | null,
  after: Readonly<Managed> | null,
): Write[] {
  const [left, taken] = [keyOf(kind, before), keyOf(kind, after)];
  if (left === taken) return [];
  const writes: Write[] = [];
  if (left !== null) writes.push({ kind: "delete", collection, key: left });
  if (after && taken !== null) {
    const value = { id: after.id } satisfies ManagedNameDocument;
    writes.push({ kind: "put", collection, key: taken, value, expected: 0 });
  }
  return writes;
}

/** The label and name after a change: absent stays, null takes away. */
export function managedAfter<Document extends { managed_by?: ManagedBy }>(
  document: Document,
  change: ManagedBy | null | undefined,
): Document {
  if (change === undefined) return document;
  const { managed_by: _before, ...rest } = document;
  return (change === null ? rest : { ...rest, managed_by: change }) as Document;
}

/** Whether a change would leave it with the label and name that it has. */
export function isManagedAs(
  { managed_by: before }: { readonly managed_by?: ManagedBy },
  change: ManagedBy | null | undefined,
): boolean {
  if (change === undefined) return true;
  return before?.label === change?.label && before?.name === change?.name;
}

/**
 * Commits, and tells where another thing has the name already.
 *
 * @throws {OrchestratorError} `ALREADY_EXISTS`.
 */
export async function refuseTaken<Result>(commit: Promise<Result>): Promise<Result> {
  try {
    return await commit;
  } catch (error) {
    if (!isOrchestratorError(error, "REVISION_CONFLICT") || error.details["collection"] !== collection)
      throw error;
    throw new OrchestratorError("ALREADY_EXISTS", {
      message: "Another one is managed under this label and name.",
      cause: error,
    });
  }
}

function keyOf(kind: string, managed: Readonly<Managed> | null): string | null {
  if (!managed?.managed_by) return null;
  const { label, name } = managed.managed_by;
  return `${kind}/${label}/${name}`;
}
