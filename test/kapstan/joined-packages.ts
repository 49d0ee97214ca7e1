// Global set-up of the test projects whose tests start programs from dist: no test may pass on code of older sources.
import { requireJoined } from './built-packages.ts';

export const setup = (): void => requireJoined();
