// Preloaded in the measured server, which then runs from sources without a build.
import { register } from 'node:module';

register('./source-hooks.mjs', import.meta.url);
