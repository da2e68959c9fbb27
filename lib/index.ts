export { errorTable, isOrchestratorError, OrchestratorError } from "./errors.ts";
export type { ErrorCode, ErrorOptions, Issue } from "./errors.ts";
export { silentLogger } from "./logger.ts";
export type { LogFields, Logger } from "./logger.ts";
