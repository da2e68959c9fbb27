import { Option } from "commander";

/** How much is logged, from most to nothing. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option("--log-level <level>", "how much is logged").choices(logLevels);
}
