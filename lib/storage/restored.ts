/** What a restore of a backup leaves for whoever opens the data next. */
export interface RestoreNote {
  /** Another one for each restore, the same at each start until it is told. */
  restore_id: string;
  /** RFC 3339. */
  restored_at: string;
  /** The epoch that begins is above this one. Default 0. */
  epoch_after?: number;
}

/** A restore that nobody has acted on yet. */
export interface Restored {
  /** Null where the data was not restored, or somebody has acted on it. */
  note(): RestoreNote | null;
  /** What follows from it is durable. */
  told(): Promise<void>;
}
