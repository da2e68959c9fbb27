/** Every schema of an input or output, for adapters: they define none of their own. */
export * from "./access/schemas.ts";
export * from "./agents/schemas.ts";
export * from "./assignments/schemas.ts";
export * from "./audit/schemas.ts";
export * from "./backups/schemas.ts";
export * from "./discovery/schemas.ts";
export * from "./drift/schemas.ts";
export * from "./event-feed/schemas.ts";
export * from "./metrics/schemas.ts";
export * from "./modules/schemas.ts";
export * from "./operations/schemas.ts";
export * from "./restores/schemas.ts";
export * from "./rollouts/schemas.ts";
export * from "./runs/schemas.ts";
export * from "./status/schemas.ts";
export * from "./secrets/schemas.ts";
export * from "./terminals/schemas.ts";
export { nothingSchema } from "./internal/common-schemas.ts";
