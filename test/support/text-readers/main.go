// Reads derived texts with the parsers of others: each line of JSON on standard input is a text and
// its form, and is answered with what each parser read.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/joho/godotenv"
)

type question struct {
	Form string `json:"form"`
	Text string `json:"text"`
}

type answer struct {
	Parser string            `json:"parser"`
	Values map[string]string `json:"values"`
	Error  string            `json:"error,omitempty"`
}

func main() {
	// Variables of the environment would be expanded in values.
	os.Clearenv()
	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(read(asked)); err != nil {
			log.Fatal(err)
		}
	}
}

func read(asked question) []answer {
	switch asked.Form {
	case "dotenv":
		values, err := godotenv.Parse(strings.NewReader(asked.Text))
		others, otherErr := dotenv.Parse(strings.NewReader(asked.Text))
		return []answer{of("godotenv", values, err), of("compose", others, otherErr)}
	case "json":
		values := map[string]string{}
		err := json.NewDecoder(bytes.NewReader([]byte(asked.Text))).Decode(&values)
		return []answer{of("encoding/json", values, err)}
	default:
		values, err := registry(asked.Text)
		return []answer{of("encoding/json", values, err)}
	}
}

// As kubelet reads a config (k8s.io/kubernetes, pkg/credentialprovider, DockerConfigJSON).
func registry(text string) (map[string]string, error) {
	var config struct {
		Auths map[string]struct {
			Username, Password, Email, Auth string
		} `json:"auths"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for server, login := range config.Auths {
		values["server"], values["username"], values["password"], values["email"] = server, login.Username, login.Password, login.Email
		decoded, err := base64.StdEncoding.DecodeString(login.Auth)
		if err != nil {
			return nil, err
		}
		user, password, _ := strings.Cut(string(decoded), ":")
		values["authUser"], values["authPassword"] = user, password
	}
	return values, nil
}

func of(parser string, values map[string]string, err error) answer {
	if err != nil {
		return answer{Parser: parser, Error: "refused"}
	}
	return answer{Parser: parser, Values: values}
}
