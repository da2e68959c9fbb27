/** What tests of the package, of its drivers and of programs that embed it need. */
export { FakeClock } from "./fake-clock.ts";
export { createTestOrchestrator } from "./test-orchestrator.ts";
export type { SignedIn, TestOrchestrator } from "./test-orchestrator.ts";
export type { ConformanceCase } from "./conformance.ts";
export { storageConformance } from "./storage-conformance.ts";
