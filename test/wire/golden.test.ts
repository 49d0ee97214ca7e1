// The recorded transcripts on the embedded store.
import { describe } from 'vitest';
import { replayTranscripts } from './golden-replay.ts';

describe('golden transcripts', () => {
  replayTranscripts(async () => ({ flags: [] }));
});
