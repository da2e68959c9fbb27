import { z } from "zod";

/** Output of `backups.create` for adapters: bytes in whatever form they stream them. */
export const backupSchema = z
  .custom<object>((value) => typeof value === "object" && value !== null)
  .meta({ override: { type: "string" } });
