// Preloaded in the measured server: it runs from sources, so that no build is needed first.
import { register } from 'node:module';

register('./source-hooks.mjs', import.meta.url);
