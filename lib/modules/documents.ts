import type { ManagedBy } from "../internal/common-schemas.ts";
import type { CollectionDefinition } from "../storage/storage.ts";

/** One revision of a module as stored; the content lies in a blob named after its hash. */
export interface ModuleDocument {
  name: string;
  description?: string;
  revision: number;
  content_hash: string;
  /** The content that holds its {@link ModuleView}; absent of what was uploaded to an earlier version. Where it is lost it is made anew. */
  view_hash?: string;
  size: number;
  resource_count: number;
  uploaded_at: string;
  uploaded_by: string;
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
}

/** That a module, in its newest revision, requires another. */
export interface ModuleRequirementDocument {
  module: string;
  requires: string;
}

/** That a module, in its newest revision, uses a secret. */
export interface ModuleSecretDocument {
  module: string;
  secret: string;
}

/** What the modules feature keeps. */
export const moduleCollections = {
  /** The newest revision of each, under its name. */
  modules: { indexes: {}, blobs: { content_hash: "module", view_hash: "module" } },
  /** Every revision, under `name@revision`. */
  module_revisions: {
    indexes: { by_name: ["name", "revision"], by_content: ["content_hash"], by_view: ["view_hash"] },
    blobs: { content_hash: "module", view_hash: "module" },
  },
  /** Under both names. */
  module_secrets: { indexes: { by_module: ["module"], by_secret: ["secret", "module"] } },
  /** Under both names. */
  module_requirements: { indexes: { by_module: ["module"], by_required: ["requires", "module"] } },
} as const satisfies Record<string, CollectionDefinition>;

export function revisionKey(name: string, revision: number): string {
  return `${name}@${revision}`;
}
