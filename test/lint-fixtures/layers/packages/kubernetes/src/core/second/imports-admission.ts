import '../../admission/plugin.ts';
