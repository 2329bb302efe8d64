// Renders charts as `helm template` does, with Helm's loader, schema validation and engine. Reads
// lines of JSON: a chart with values, a namespace and a version of Kubernetes; answers each with the
// manifests, or with the error. `lint` asks for the messages of `helm lint --strict` instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

type question struct {
	Chart     string         `json:"chart"`
	Values    map[string]any `json:"values"`
	Namespace string         `json:"namespace"`
	Version   string         `json:"version"`
	Lint      bool           `json:"lint"`
}

type answer struct {
	Manifests string   `json:"manifests"`
	Messages  []string `json:"messages"`
	Error     string   `json:"error,omitempty"`
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		if err := answers.Encode(answerTo(asked)); err != nil {
			return
		}
	}
}

func answerTo(asked question) answer {
	if asked.Lint {
		return answer{Messages: lintMessages(asked)}
	}
	manifests, err := render(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Manifests: manifests}
}

// Helm's order: the version that the chart wants, the schema of the values, the templates.
func render(asked question) (string, error) {
	chart, err := loader.Load(asked.Chart)
	if err != nil {
		return "", err
	}
	version, err := common.ParseKubeVersion(asked.Version)
	if err != nil {
		return "", err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	if wanted := chart.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, version.String()) {
		return "", fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, version.Version)
	}
	if err := chartutil.ProcessDependencies(chart, asked.Values); err != nil {
		return "", err
	}
	release := common.ReleaseOptions{Name: "r", Namespace: asked.Namespace, Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(chart, asked.Values, release, capabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return "", err
	}
	var manifests strings.Builder
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if base := path.Base(name); base == "NOTES.txt" || strings.HasPrefix(base, "_") {
				continue
			}
			if !yield(name) {
				return
			}
		}
	})
	for _, name := range names {
		fmt.Fprintf(&manifests, "---\n%s\n", files[name])
	}
	return manifests.String(), nil
}

func lintMessages(asked question) []string {
	messages := []string{}
	for _, message := range lint.RunAll(asked.Chart, asked.Values, asked.Namespace).Messages {
		if message.Severity >= support.WarningSev {
			messages = append(messages, message.Error())
		}
	}
	return messages
}
