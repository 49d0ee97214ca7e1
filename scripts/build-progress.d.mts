// The types of build-progress.mjs, for its test.
export declare class BuildProgress {
  constructor(options: {
    readonly write: (text: string) => void;
    readonly isTty: boolean;
    readonly now: () => number;
  });
  line(text: string): void;
  begin(what: string): void;
  tick(): void;
  end(): void;
}
