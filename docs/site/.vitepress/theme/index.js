import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import './style.css';
import SizingForm from './SizingForm.vue';

export default {
  extends: DefaultTheme,
  Layout: {
    setup() {
      const { page } = useData();
      const isScaling = () => page.value.relativePath === 'docs/guide/scaling.md';
      return () => h(DefaultTheme.Layout, null, { 'doc-after': () => (isScaling() ? h(SizingForm) : undefined) });
    },
  },
};
